"""What a network is for: the shape of its inputs, the kind and the units of its targets, and what training showed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from priorfit.data import Classes, Outcome
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.latent_spaces import LatentSpace

Padding: TypeAlias = Literal["rescaled", "plain"]


@dataclass(frozen=True)
class Columns:
    """Where the columns of training lay, before they were padded.

    ``range`` is the interval of uniform inputs. Where there is none, inputs lay around ``mean`` with the standard
    deviation ``scale``.
    """

    range: tuple[float, float] | None = None
    mean: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True)
class Problem:
    """What a network is for; saved with it, so that every door treats data alike.

    ``num_features`` is the width of the network's input, ``min_features`` the smallest number of columns that it
    takes (the others are padded; None: no fewer). ``input_range`` holds every input that the network saw in training.
    ``units="free"`` means that the prior is scale-free: columns and targets are shown in units of their context, and
    the density is mapped back. ``columns``, ``target_range`` and ``rarest_share`` (of the rarest class in a dataset)
    tell what training showed; None is unknown. ``missing`` says that the network knows missing values, which are NaN in
    its inputs, and nominal columns as whole-number codes. ``min_classes`` is to the number of classes what
    ``min_features`` is to that of columns: the answer has as many classes as the context (its largest label + 1, and
    no fewer than this), up to the ``count`` of the outcome; None means that it always has ``count``.

    >>> from priorfit.data import Real
    >>> Problem(num_features=10, outcome=Real(), min_features=1).takes
    '1 to 10 columns'
    """

    num_features: int
    outcome: Outcome
    input_range: tuple[float, float] | None = None
    min_features: int | None = None
    units: Literal["fixed", "free"] = "fixed"
    columns: Columns | None = None
    target_range: tuple[float, float] | None = None
    rarest_share: float | None = None
    missing: bool = False
    min_classes: int | None = None
    answers: Literal["observations", "function"] = "observations"
    """Whether answers are for observations, noise included, or for the function below them."""
    padding: Padding = "rescaled"
    """Whether fewer columns are multiplied by features / used, as `PaddedFeatures` does, or left as they are."""
    latents: tuple[LatentSpace, ...] = ()
    """The latents that the prior names, which the network answers for too."""

    def __post_init__(self) -> None:
        check_fields(self)
        if not 1 <= self.fewest_features <= self.num_features:
            raise InputError(
                "a problem needs 1 <= min_features <= num_features; got "
                f"min_features={self.min_features}, num_features={self.num_features}."
            )
        most = self.outcome.count if isinstance(self.outcome, Classes) else 0
        if self.min_classes is not None and not 2 <= self.min_classes <= most:
            raise InputError(
                f"a problem needs 2 <= min_classes <= the number of its classes; got min_classes={self.min_classes} "
                f"and {self.outcome}."
            )

    @property
    def fewest_features(self) -> int:
        """The smallest number of columns that the network takes."""
        return self.num_features if self.min_features is None else self.min_features

    @property
    def takes(self) -> str:
        """How many columns the network takes, in words."""
        if self.fewest_features < self.num_features:
            return f"{self.fewest_features} to {self.num_features} columns"
        return f"{self.num_features} column{'s' if self.num_features > 1 else ''}"

    @property
    def shape(self) -> tuple[object, ...]:
        """What decides the shape of a network; weights fit another problem of the same shape."""
        latents = tuple((latent.name, latent.size, latent.count) for latent in self.latents)
        return (self.num_features, self.outcome, self.input_range, *([latents] if latents else []))


def columns_of(prior: dict[str, Any]) -> Columns | None:
    """Where the inputs lie that the description of a prior speaks of; None where it does not say, or they differ.

    >>> columns_of({"inputs": {"type": "UniformInputs", "low": 0.0, "high": 1.0}})
    Columns(range=(0.0, 1.0), mean=0.0, scale=1.0)
    """
    inputs = list(_input_parts(prior))
    if inputs and all(each.get("type") == "UniformInputs" for each in inputs):
        return Columns(range=(min(each["low"] for each in inputs), max(each["high"] for each in inputs)))
    if inputs and all(each == inputs[0] and each.get("type") == "NormalInputs" for each in inputs):
        return Columns(mean=inputs[0]["mean"], scale=inputs[0]["scale"])
    return None


def fewest_features(prior: dict[str, Any], num_features: int) -> int:
    """The smallest table that the prior of a description draws, before it is padded to ``num_features``."""
    if prior.get("type") == "Tables":
        return 1
    if "min_features" in prior:  # PaddedFeatures and Objectives
        return prior["min_features"]
    return min((fewest_features(inner, num_features) for inner in _inner_priors(prior)), default=num_features)


def _input_parts(prior: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for inner in _inner_priors(prior):
        yield from _input_parts(inner)
    inputs = prior.get("inputs", {})
    yield from inputs.get("parts", [inputs] if inputs else [])


def _inner_priors(prior: dict[str, Any]) -> list[dict[str, Any]]:
    return [*prior.get("priors", []), *([prior["prior"]] if "prior" in prior else [])]
