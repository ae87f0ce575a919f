"""What follows from the weights of a module alone: computed once for each state of them, not once for each dataset."""

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor, nn

Value = TypeVar("Value")
State = tuple[tuple[int, int], ...]


class Constants(Generic[Value]):
    """A value that is kept as long as the weights of a module are frozen and stay what they are.

    The state of a weight is its place in memory and the number of times that it was changed there, which torch counts.

    >>> layer = nn.Linear(1, 1).requires_grad_(False)
    >>> doubled = Constants()
    >>> first = doubled.of(layer, lambda: 2 * layer.weight)
    >>> doubled.of(layer, lambda: 2 * layer.weight) is first
    True
    >>> _ = nn.init.ones_(layer.weight)
    >>> float(doubled.of(layer, lambda: 2 * layer.weight))
    2.0
    """

    def __init__(self) -> None:
        self._kept: tuple[State, Value] | None = None

    def of(self, module: nn.Module, compute: Callable[[], Value]) -> Value:
        """The value for the present weights of a module; where these are trained it is computed anew, for gradients."""
        state = state_of(module)
        if state is None:
            return compute()
        if self._kept is None or self._kept[0] != state:
            self._kept = state, compute()
        return self._kept[1]


def state_of(module: nn.Module) -> State | None:
    """Where the weights lie and how often they were changed; None where they are trained or torch does not count."""
    weights = weights_of(module)
    if True in [weight.requires_grad for weight in weights]:
        return None
    try:
        return tuple([(weight.data_ptr(), weight._version) for weight in weights])
    except RuntimeError:  # tensors of torch.inference_mode
        return None


def weights_of(module: nn.Module) -> list[Tensor]:
    """The weights of a module and its parts; ``parameters()`` takes many times as long."""
    parts: list[nn.Module | None] = [module]
    weights: list[Tensor | None] = []
    for part in parts:  # which grow on the way
        if part is not None:
            weights += part._parameters.values()
            parts += part._modules.values()
    return [weight for weight in weights if weight is not None]
