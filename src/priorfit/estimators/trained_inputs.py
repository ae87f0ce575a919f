"""What a model's card tells of the inputs that it was trained on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from priorfit.network import PFN


@dataclass(frozen=True)
class TrainedInputs:
    """How many features the tables of training had, and where their values lay before they were padded.

    ``reach`` is the interval of uniform inputs. Where there is none, inputs lay around ``mean`` with the standard
    deviation ``scale``.
    """

    fewest_features: int
    most_features: int
    reach: tuple[float, float] | None = None
    mean: float = 0.0
    scale: float = 1.0


def trained_inputs(model: PFN) -> TrainedInputs:
    """What the description of the prior in a model's card says; where it says nothing, inputs are standard.

    >>> import priorfit as pf
    >>> trained_inputs(pf.load("gp-rbf-1d"))
    TrainedInputs(fewest_features=1, most_features=1, reach=(0.0, 1.0), mean=0.0, scale=1.0)
    """
    prior, most = model.card.prior, model.task.num_features
    fewest = fewest_features(prior, most)
    inputs = list(input_parts(prior))
    if inputs and all(each.get("type") == "UniformInputs" for each in inputs):
        reach = min(each["low"] for each in inputs), max(each["high"] for each in inputs)
        return TrainedInputs(fewest, most, reach=reach)
    if inputs and all(each == inputs[0] and each.get("type") == "NormalInputs" for each in inputs):
        return TrainedInputs(fewest, most, mean=inputs[0]["mean"], scale=inputs[0]["scale"])
    return TrainedInputs(fewest, most)


def fewest_features(prior: dict[str, Any], num_features: int) -> int:
    """The smallest table that a prior draws, before it is padded to ``num_features``."""
    if prior.get("type") == "PaddedFeatures":
        return prior["min_features"]
    return min((fewest_features(inner, num_features) for inner in inner_priors(prior)), default=num_features)


def input_parts(prior: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The descriptions of all distributions of inputs that a prior draws from."""
    for inner in inner_priors(prior):
        yield from input_parts(inner)
    inputs = prior.get("inputs", {})
    yield from inputs.get("parts", [inputs] if inputs else [])


def inner_priors(prior: dict[str, Any]) -> list[dict[str, Any]]:
    """The priors that a wrapper or a mixture is made of."""
    return [*prior.get("priors", []), *([prior["prior"]] if "prior" in prior else [])]
