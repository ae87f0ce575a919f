"""A prior written as a program: named latents, and the law of the targets given them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Datasets, Outcome, Real
from priorfit.errors import InputError, PriorError, PriorfitError
from priorfit.priors.declaration import check_function, check_settings, reduced
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.latents import Latent, Latents, LatentSource, named_latents, sampled
from priorfit.priors.laws import conditional_of, log_likelihood, on_all_points, outcome_of
from priorfit.priors.prior import Prior
from priorfit.priors.targets import check_targets
from priorfit.seeding import seeded

PROBED = (3, 5)
"""Datasets and points with which a function is called once, to see what it returns."""


@dataclass(frozen=True)
class ProgramPrior(Prior):
    """A prior whose function takes named latents and returns the law of the targets, or draws; made by `prior`.

    With a law the likelihood is known: the outcome follows from it, and importance sampling gives the posterior. A
    function that returns a tensor of draws is a simulator: all that needs no likelihood works.

    >>> from torch.distributions import Normal, Uniform
    >>> from priorfit.priors.function import prior
    >>> @prior(num_features=1, slope=Normal(0.0, 1.0), noise=Uniform(0.1, 0.5))
    ... def lines(x, slope, noise):
    ...     return Normal(slope * x[..., 0], noise)
    >>> datasets = lines.sample(batch_size=4, num_points=10)
    >>> datasets.y.shape, datasets.latents["slope"].shape, lines.outcome
    (torch.Size([4, 10]), torch.Size([4, 1]), Real())
    """

    function: Callable[..., Any] = field(metadata={"described": False})
    num_features: int
    outcome: Outcome
    has_law: bool
    latents: tuple[Latent, ...] = ()
    offers_expected: bool = False
    inputs: Inputs = UniformInputs()
    name: str = "prior"
    doc: str = ""
    joint_likelihood: Callable[..., Any] | None = field(default=None, metadata={"described": False})
    """log p(y | x, latents) of whole datasets, for a simulator whose points depend on each other."""

    is_smooth: ClassVar[bool] = False
    """Whether the law is known to be smooth in x, so that few inputs tell of it."""

    def __post_init__(self) -> None:
        """Take over the name and docstring of the function."""
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__doc__", self.doc)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """See `reduced`."""
        return reduced(self, self.function)

    def __str__(self) -> str:
        """The name of the prior."""
        return self.name

    def __call__(self, x: Float[Tensor, "batch points features"], **latents: Tensor) -> Any:
        """What the function returns, unchecked."""
        return self.function(x, **latents)

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`; the latents are kept with the datasets."""
        with torch.no_grad():
            latents = self.sample_latents(len(x), x)
            if not self.has_law:
                y = self.function(x, **latents)
                return Datasets(x, check_targets(self, x, y), latents=latents)
            law = self.law(x, latents)
            return Datasets(x, check_targets(self, x, law.sample().to(x.dtype)), conditional_of(law), latents)

    def sample_latents(self, batch_size: int, like: Float[Tensor, "..."] | None = None) -> Latents:
        """Draws of all latents, ``(batch, size)`` each, on the device and in the precision of ``like``."""
        return placed(sampled(self.latents, batch_size), torch.empty(0) if like is None else like)

    def placed(
        self, latents: Mapping[str, Num[Tensor, "..."]], like: Float[Tensor, "..."]
    ) -> dict[str, Num[Tensor, "..."]]:
        """Latents as the function gets them when it draws: in the type of draws, on the device of ``like``."""
        by_name = {latent.name: latent for latent in self.latents}
        return placed({name: by_name[name].as_drawn(value) for name, value in latents.items()}, like)

    def law(
        self, x: Float[Tensor, "batch points features"], latents: Mapping[str, Num[Tensor, "batch size"]]
    ) -> Distribution:
        """p(y | x, latents), independent over points: batch shape ``(batch, points)``."""
        if self.joint_likelihood is not None:
            raise InputError(
                f"prior {self} has a joint likelihood of its points, which gives posteriors of latents, and no law of "
                "one point, which predictions need. Ask the network itself for these."
            )
        if not self.has_law:
            raise InputError(
                f"prior {self} returns draws, so the likelihood of its latents is unknown. Let its function return a "
                "distribution, such as Normal(mean, noise), in place of a tensor."
            )
        with torch.no_grad():
            found = self.function(x, **latents)
        if not isinstance(found, Distribution):
            raise PriorError(f"prior {self} returned a law before; got {type(found).__name__}. Return a law each time.")
        return on_all_points(found, x, self.name)

    def log_likelihood(
        self,
        x: Float[Tensor, "batch points features"],
        y: Num[Tensor, "batch points"],
        latents: Mapping[str, Num[Tensor, "batch size"]],
    ) -> Float[Tensor, " batch"]:
        """log p(y | x, latents) of each dataset, in float64."""
        if self.joint_likelihood is None:
            return log_likelihood(self.law(x, latents), y)
        with torch.no_grad():
            return checked_likelihood(self.joint_likelihood(x, y, **latents), len(x), self.name)

    @property
    def has_likelihood(self) -> bool:
        """Whether the likelihood of latents is known: by the law of each point, or jointly."""
        return self.has_law or self.joint_likelihood is not None

    def with_likelihood(self, joint: object) -> "ProgramPrior":
        """The same simulator with the joint log likelihood of its targets, for points that depend on each other.

        ``joint(x, y, **latents)`` gives log p(y | x, latents) of each dataset, ``(batch,)``. Then posteriors of latents
        are refined (``posterior.refined().latents``). Predictions of new points are not: they need the law of a point
        given others.

        >>> import torch
        >>> from torch.distributions import MultivariateNormal, Normal
        >>> from priorfit.priors.function import prior
        >>> @prior(num_features=1, level=Normal(0.0, 1.0))
        ... def drift(x, level):
        ...     return level + 0.5 * torch.randn(len(x), 1) + 0.1 * torch.randn(x.shape[:2])
        >>> def likelihood(x, y, level):
        ...     covariance = 0.25 + 0.01 * torch.eye(y.shape[1])
        ...     return MultivariateNormal(level.expand_as(y), covariance).log_prob(y)
        >>> drift.has_likelihood, drift.with_likelihood(likelihood).has_likelihood
        (False, True)
        """
        if self.has_law:
            raise InputError(f"prior {self} returns a law, which is its likelihood; it takes no other.")
        if not callable(joint):
            raise InputError(f"a likelihood is a function joint(x, y, **latents); got {joint!r}.")
        return replace(self, joint_likelihood=joint)

    def latent_log_prob(self, latents: Mapping[str, Num[Tensor, "batch size"]]) -> Float[Tensor, " batch"]:
        """log p(latents) of each dataset, in float64; -inf outside of their supports."""
        batch_size = len(next(iter(latents.values())))
        parts = [log_likelihood(each.law(latents, batch_size), latents[each.name].cpu()) for each in self.latents]
        return torch.stack(parts).sum(0)


def checked_likelihood(found: Any, batch_size: int, name: str) -> Float[Tensor, " batch"]:
    """Log likelihoods in float64; NaN counts as a likelihood of 0."""
    if not isinstance(found, Tensor) or found.shape != (batch_size,):
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise PriorError(
            f"the likelihood of prior {name} must give one number for each dataset, (batch,) = ({batch_size},); got "
            f"{shape}. Sum log densities over the points."
        )
    return found.double().nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)


def placed(latents: Mapping[str, Num[Tensor, "..."]], like: Float[Tensor, "..."]) -> dict[str, Num[Tensor, "..."]]:
    """Latents on the device of ``like``, real ones in its precision; classes stay whole numbers."""
    return {
        name: value.to(like) if value.is_floating_point() else value.to(like.device) for name, value in latents.items()
    }


def program(
    function: Callable[..., Any],
    sources: Mapping[str, LatentSource],
    num_features: int,
    inputs: Inputs,
    outcome: Outcome | None,
    name: str,
) -> ProgramPrior:
    """The prior of a function with named latents; the function is called on a few points to see what it returns."""
    check_settings(num_features, inputs, Real() if outcome is None else outcome, name)
    latents = named_latents(sources)
    check_function(function, tuple(sources))
    with seeded(0):
        x = inputs.sample(*PROBED, num_features)
        law = _law_returned(function, latents, x, name)
    implied = None if law is None else outcome_of(law, name)
    if implied is not None and outcome is not None and outcome != implied:
        raise InputError(
            f"the law of prior {name} is {type(law).__name__}, whose outcome is {implied}; got outcome={outcome}. "
            "Leave outcome out: it follows from the law."
        )
    return ProgramPrior(
        function,
        num_features,
        implied or outcome or Real(),
        has_law=law is not None,
        latents=latents,
        offers_expected=law is not None and conditional_of(law) is not None,
        inputs=inputs,
        name=name,
        doc=function.__doc__ or "",
    )


def _law_returned(
    function: Callable[..., Any], latents: tuple[Latent, ...], x: Float[Tensor, "batch points features"], name: str
) -> Distribution | None:
    """The law that a function returns for a few datasets; None where it returns a tensor of draws."""
    try:
        with torch.no_grad():
            found = function(x, **placed(sampled(latents, len(x)), x))
    except PriorfitError:
        raise
    except Exception as error:
        shapes = ", ".join(f"{latent.name} {(len(x), latent.size)}" for latent in latents)
        raise PriorError(
            f"prior {name} fails with {type(error).__name__}: {error} It was called with x of shape "
            f"{tuple(x.shape)} and latents of shapes {shapes}; the error above this one shows the line."
        ) from error
    if isinstance(found, Distribution):
        outcome_of(found, name)  # a law that joins points has another batch shape, and the reason comes first
        return on_all_points(found, x, name)
    if not isinstance(found, Tensor):
        raise PriorError(
            f"prior {name} must return a distribution of torch.distributions, the law of its targets, or a tensor of "
            f"draws; got {type(found).__name__}."
        )
    return None
