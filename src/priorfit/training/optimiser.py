"""Adam, and Muon in float32 for the matrices of the blocks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from priorfit.errors import RecipeError
from priorfit.fields import check_fields


@dataclass(frozen=True)
class OptimiserSettings:
    """How weights are updated.

    ``method="muon"`` takes Muon for the matrices that a network names (`Model.matrices`), at ``muon_factor`` times the
    learning rate, and Adam for the rest; ``"adam"`` takes Adam for all. ``averaging`` is the decay of an
    exponential average of the weights that becomes the result (0: the last weights are the result).
    ``precision="bfloat16"`` takes the products of a step in half precision, where the processor has instructions for
    it about twice as fast; weights, sums and solvers stay in float32.
    """

    method: Literal["muon", "adam"] = "muon"
    learning_rate: float = 1.5e-3
    muon_factor: float = 10.0
    warmup: float = 0.05
    clip: float = 1.0
    averaging: float = 0.0
    precision: Literal["float32", "bfloat16"] = "float32"

    def __post_init__(self) -> None:
        check_fields(self, RecipeError)
        if self.learning_rate <= 0 or self.muon_factor <= 0 or self.clip <= 0:
            raise RecipeError(f"learning_rate, muon_factor and clip must be positive; got {self}.")
        if not 0 < self.warmup < 1 or not 0 <= self.averaging < 1:
            raise RecipeError(f"warmup must lie in (0, 1) and averaging in [0, 1); got {self}.")


@runtime_checkable
class Learner(Protocol):
    """What optimisers ask of a module: its weights, and which of them are Muon's. A model is one, a solver too."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """All weights."""
        ...

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates."""
        ...


class Muon(Optimizer):
    """Momentum whose update is orthogonalised: each matrix moves by a matrix of singular values near 1.

    Matrices of one shape are treated in one batch. float32 throughout: bfloat16, as in torch's own Muon, is
    emulated and slow on most CPUs.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, momentum: float = 0.95) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Update every matrix that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[nn.Parameter]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape.setdefault(parameter.shape, []).append(parameter)
            for parameters in by_shape.values():
                self._update(parameters, group["lr"], group["momentum"])

    def _update(self, parameters: list[nn.Parameter], lr: float, momentum: float) -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        averages = [
            self.state[parameter].setdefault("average", torch.zeros_like(parameter)) for parameter in parameters
        ]
        torch._foreach_lerp_(averages, gradients, 1 - momentum)
        nesterov = torch.stack(torch._foreach_lerp(gradients, averages, momentum))  # (matrices, rows, columns)
        rows, columns = nesterov.shape[1:]
        updates = orthogonalised(nesterov) * max(1.0, rows / columns) ** 0.5
        torch._foreach_add_(tuple(parameters), updates.unbind(0), alpha=-lr)


def orthogonalised(matrices: Float[Tensor, "matrices rows columns"]) -> Float[Tensor, "matrices rows columns"]:
    """Each matrix with its singular values pushed near 1, by five Newton-Schulz steps.

    >>> values = torch.linalg.svdvals(orthogonalised(torch.randn(3, 16, 8)))
    >>> bool((values > 0.5).all() and (values < 1.5).all())
    True
    """
    if matrices.shape[1] > matrices.shape[2]:
        return orthogonalised(matrices.mT).mT
    x = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        polynomial = torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
        x = torch.baddbmm(x, polynomial, x, beta=3.4445)
    return x


class Optimisers:
    """The optimisers of a run as one: they share a schedule, a step and a saved state."""

    def __init__(self, network: Learner, settings: OptimiserSettings) -> None:
        self.parameters = [weight for weight in network.parameters() if weight.requires_grad]
        chosen = set() if settings.method == "adam" else {id(weight) for weight in network.matrices()}
        matrices = [weight for weight in self.parameters if id(weight) in chosen]
        others = [weight for weight in self.parameters if id(weight) not in chosen]
        self.clip = settings.clip
        adam = Adam(others, lr=settings.learning_rate, betas=(0.9, 0.98), fused=True)
        self.members: dict[str, Optimizer] = {"adam": adam}
        if matrices:
            self.members["muon"] = Muon(matrices, lr=settings.learning_rate * settings.muon_factor)
        self._base_rates = {name: member.param_groups[0]["lr"] for name, member in self.members.items()}

    def step(self, factor: float) -> float | None:
        """Clip and update at ``factor`` times the learning rate; return the gradient's norm, None if not finite."""
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self.clip))
        if not torch.isfinite(torch.tensor(norm)):
            return None
        for name, member in self.members.items():
            member.param_groups[0]["lr"] = self._base_rates[name] * factor
            member.step()
        return norm

    def zero_grad(self) -> None:
        """Set the gradients to None."""
        for member in self.members.values():
            member.zero_grad()

    def tensors(self) -> dict[str, Tensor]:
        """The state as named tensors, for a checkpoint."""
        return {
            f"{name}.{index}.{key}": value
            for name, member in self.members.items()
            for index, state in member.state_dict()["state"].items()
            for key, value in state.items()
        }

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Restore a state that `tensors` returned."""
        states: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in self.members}
        for full_name, value in tensors.items():
            name, index, key = full_name.split(".")
            states[name].setdefault(int(index), {})[key] = value
        for name, member in self.members.items():
            member.load_state_dict(member.state_dict() | {"state": states[name]})
