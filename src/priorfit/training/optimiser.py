"""Adam, and Muon in float32 for the matrices of the blocks.

Neither is a `torch.optim.Optimizer`: the first of these that a process makes imports torch's compiler, which takes half
a second or more and is not used here.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

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


class Update(ABC):
    """A rule that changes weights by their gradients, and the running averages that it keeps of each."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        self.parameters, self.lr = list(parameters), lr
        self.state: dict[int, dict[str, Tensor]] = {}
        """Named tensors of each weight that has been updated, by its index among the parameters."""

    @torch.no_grad()
    def step(self) -> None:
        """Update every weight that has a gradient."""
        self.change([index for index, weight in enumerate(self.parameters) if weight.grad is not None])

    @abstractmethod
    def change(self, indices: list[int]) -> None:
        """Update the weights of these indices."""

    def gradients(self, indices: list[int]) -> list[Tensor]:
        """The gradients of the weights of these indices, all of which have one."""
        return [grad for index in indices if (grad := self.parameters[index].grad) is not None]

    def averages(self, indices: list[int], name: str) -> list[Tensor]:
        """A running average of each gradient of these indices, 0 at first."""
        return [
            self.state.setdefault(index, {}).setdefault(name, torch.zeros_like(self.parameters[index]))
            for index in indices
        ]

    def load(self, state: dict[int, dict[str, Tensor]]) -> None:
        """Go on from a saved state."""
        self.state = {
            index: {name: value.to(self.parameters[index].device, copy=True) for name, value in values.items()}
            for index, values in state.items()
        }


class Adam(Update):
    """Adam by torch's fused kernel: to the bit what `torch.optim.Adam` does with ``fused=True``."""

    betas = (0.9, 0.98)

    def change(self, indices: list[int]) -> None:
        """See `Update.change`."""
        if not indices:
            return
        for index in indices:
            device = self.parameters[index].device
            self.state.setdefault(index, {}).setdefault("step", torch.zeros((), device=device))
        steps = [self.state[index]["step"] for index in indices]
        torch._foreach_add_(steps, 1)
        torch._fused_adam_(
            [self.parameters[index] for index in indices],
            self.gradients(indices),
            self.averages(indices, "exp_avg"),
            self.averages(indices, "exp_avg_sq"),
            [],
            steps,
            lr=self.lr,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )


class Muon(Update):
    """Momentum whose update is orthogonalised: each matrix moves by a matrix of singular values near 1.

    Matrices of one shape are treated in one batch. float32 throughout: bfloat16, as in torch's own Muon, is
    emulated and slow on most CPUs.
    """

    momentum = 0.95

    def change(self, indices: list[int]) -> None:
        """See `Update.change`."""
        by_shape: dict[torch.Size, list[int]] = {}
        for index in indices:
            by_shape.setdefault(self.parameters[index].shape, []).append(index)
        for alike in by_shape.values():
            self._change_alike(alike)

    def _change_alike(self, indices: list[int]) -> None:
        parameters, gradients = [self.parameters[index] for index in indices], self.gradients(indices)
        averages = self.averages(indices, "average")
        torch._foreach_lerp_(averages, gradients, 1 - self.momentum)
        nesterov = torch.stack(torch._foreach_lerp(gradients, averages, self.momentum))  # (matrices, rows, columns)
        rows, columns = nesterov.shape[1:]
        updates = orthogonalised(nesterov) * max(1.0, rows / columns) ** 0.5
        torch._foreach_add_(tuple(parameters), updates.unbind(0), alpha=-self.lr)


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
        self.members: dict[str, Update] = {"adam": Adam(others, settings.learning_rate)}
        if matrices:
            self.members["muon"] = Muon(matrices, settings.learning_rate * settings.muon_factor)
        self._base_rates = {name: member.lr for name, member in self.members.items()}

    def step(self, factor: float) -> float | None:
        """Clip and update at ``factor`` times the learning rate; return the gradient's norm, None if not finite."""
        norm = float(nn.utils.clip_grad_norm_(self.parameters, self.clip))
        if not torch.isfinite(torch.tensor(norm)):
            return None
        for name, member in self.members.items():
            member.lr = self._base_rates[name] * factor
            member.step()
        return norm

    def zero_grad(self) -> None:
        """Set the gradients to None."""
        for weight in self.parameters:
            weight.grad = None

    def tensors(self) -> dict[str, Tensor]:
        """The state as named tensors, for a checkpoint."""
        return {
            f"{name}.{index}.{key}": value
            for name, member in self.members.items()
            for index, state in member.state.items()
            for key, value in state.items()
        }

    def load_tensors(self, tensors: dict[str, Tensor]) -> None:
        """Restore a state that `tensors` returned."""
        states: dict[str, dict[int, dict[str, Tensor]]] = {name: {} for name in self.members}
        for full_name, value in tensors.items():
            name, index, key = full_name.split(".")
            states[name].setdefault(int(index), {})[key] = value
        for name, member in self.members.items():
            member.load(states[name])
