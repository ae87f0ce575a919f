"""A prior written as a function: ``@prior(num_features=1)``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Datasets, Outcome, Real
from priorfit.errors import InputError
from priorfit.priors.declaration import check_function, check_no_latents, check_settings, reduced, shown
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.latents import LatentSource
from priorfit.priors.prior import Prior
from priorfit.priors.program import ProgramPrior, program
from priorfit.priors.targets import check_targets


@dataclass(frozen=True)
class FunctionPrior(Prior):
    """A user's function that draws a batch of targets for a batch of inputs; made by `prior`.

    Every draw is checked: shape, dtype, finite values, labels in range. The checks cost some microseconds.
    """

    function: Callable[[Tensor], Tensor] = field(metadata={"described": False})
    num_features: int
    inputs: Inputs = UniformInputs()
    outcome: Outcome = Real()
    name: str = "prior"
    doc: str = ""

    def __post_init__(self) -> None:
        """Check the fields, and take over the name and docstring of the function."""
        check_function(self.function)
        check_settings(self.num_features, self.inputs, self.outcome, self.name)
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__doc__", self.doc)

    def __str__(self) -> str:
        """The name of the prior."""
        return self.name

    def __call__(self, x: Float[Tensor, "batch points features"]) -> Tensor:
        """What the function returns, unchecked."""
        return self.function(x)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """See `reduced`."""
        return reduced(self, self.function)

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        with torch.no_grad():
            y = self.function(x)
        return Datasets(x, check_targets(self, x, y))


def prior(
    *misplaced: object,
    num_features: int | None = None,
    inputs: Inputs | None = None,
    outcome: Outcome | None = None,
    name: str | None = None,
    **latents: LatentSource,
) -> Callable[[Callable[..., Any]], FunctionPrior | ProgramPrior]:
    """Make a prior of a function of inputs ``(batch, points, features)`` and of latents that are named here.

    Each further keyword names a latent: a distribution of ``torch.distributions`` (``.expand([10])`` makes a vector) or
    a function of latents named before it. The function gets the whole batch, each latent with shape ``(batch, 1)`` or
    ``(batch, size)``, and returns the law of the targets, a distribution of batch shape ``(batch, points)``, or a
    tensor of draws. Inputs are uniform on [0, 1] unless said otherwise; the outcome follows from a law, and draws are
    real unless ``outcome`` says otherwise. ``num_features`` must be given.

    >>> from torch.distributions import Normal, Uniform
    >>> @prior(num_features=1, slope=Normal(0.0, 1.0), noise=Uniform(0.1, 0.5))
    ... def lines(x, slope, noise):
    ...     return Normal(slope * x[..., 0], noise)
    >>> lines.sample(batch_size=4, num_points=10).latents["slope"].shape
    torch.Size([4, 1])

    Without latents the function draws them itself, and the network answers for the targets alone.

    >>> @prior(num_features=1)
    ... def other_lines(x):
    ...     slope = torch.randn(len(x), 1)
    ...     return slope * x[..., 0] + 0.1 * torch.randn(x.shape[:2])
    >>> other_lines.sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """
    check_no_latents(num_features=num_features, inputs=inputs, outcome=outcome, name=name)
    if misplaced or num_features is None:
        got = f"got {shown(misplaced[0])} in its place" if misplaced else "got none"
        raise InputError(
            f"@prior needs the number of columns of x, by name; {got}. Write @pf.prior(num_features=1) above the "
            "function."
        )

    def decorate(function: Callable[..., Any]) -> FunctionPrior | ProgramPrior:
        where = UniformInputs() if inputs is None else inputs
        called = getattr(function, "__name__", "prior") if name is None else name
        if latents:
            return program(function, latents, num_features, where, outcome, called)
        kind = Real() if outcome is None else outcome
        return FunctionPrior(function, num_features, where, kind, called, function.__doc__ or "")

    return decorate
