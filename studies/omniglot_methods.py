"""Answers to few-shot tasks: neighbours and ridge regression on fixed features, and our models."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from omniglot_data import Tasks
from torch import Tensor, nn

import priorfit as pf
from priorfit.distributions.class_probabilities import class_log_probs
from priorfit.network.encoders.images import OrientationMaps
from priorfit.priors.distortion import Distortion
from priorfit.zoo import load

Features = Callable[[Float[Tensor, "tasks points pixels"]], Float[Tensor, "tasks points numbers"]]
Scores = Float[Tensor, "tasks query ways"]
"""One number a class; probabilities are a softmax of them times a temperature's inverse, or of them alone."""

RIDGE = 0.1
"""The ridge, in units of the mean squared length of the features."""
COPIES = 10
"""Distorted copies of each image of the context, beside the image itself."""
SIDE = 28


def unit(x: Float[Tensor, "tasks points *shape"]) -> Float[Tensor, "tasks points numbers"]:
    """Numbers of unit length together."""
    return nn.functional.normalize(x.flatten(2), dim=-1)


def pixels(x: Float[Tensor, "tasks points pixels"]) -> Float[Tensor, "tasks points numbers"]:
    """The pixels as they are."""
    return unit(x)


def centred(x: Float[Tensor, "tasks points pixels"]) -> Float[Tensor, "tasks points numbers"]:
    """The pixels with their centre of mass in the middle, not scaled, by whole pixels and parts of them."""
    images = x.flatten(0, 1).unflatten(1, (SIDE, SIDE))
    places = torch.arange(SIDE, dtype=x.dtype)
    mass = images.sum((1, 2)).clamp_min(1e-6)
    middles = [(images.sum(axis) @ places) / mass for axis in (2, 1)]
    targets = [(middle[:, None] + places - (SIDE - 1) / 2)[..., None] for middle in middles]
    rows, columns = ((1 - (target - places).abs()).clamp_min(0) for target in targets)
    return unit((rows @ images @ columns.mT).unflatten(0, x.shape[:2]))


def orientation_maps(x: Float[Tensor, "tasks points pixels"]) -> Float[Tensor, "tasks points numbers"]:
    """The fixed maps of an `ImageEncoder`, which have unit length already."""
    return OrientationMaps(pf.ImageEncoder(), SIDE)(x).flatten(2)


def nearest(features: Features, tasks: Tasks) -> Scores:
    """The cosine of the angle to the nearest image of each class."""
    alike = features(tasks.query_x) @ features(tasks.context_x).mT  # (tasks, query, context)
    is_of = tasks.context_y[:, None, :, None] == torch.arange(tasks.ways)
    return alike[..., None].masked_fill(~is_of, -1.0).amax(2)


def ridge(features: Features, tasks: Tasks) -> Scores:
    """Least squares with a ridge on one indicator a class, in the space of the images of the context."""
    context, query = features(tasks.context_x), features(tasks.query_x)
    gram = context @ context.mT
    noise = RIDGE * gram.diagonal(dim1=1, dim2=2).mean(1)[:, None, None] * torch.eye(gram.shape[-1])
    indicators = nn.functional.one_hot(tasks.context_y, tasks.ways).to(gram.dtype)
    return query @ context.mT @ torch.linalg.solve(gram + noise, indicators)


def ridge_with_copies(features: Features, tasks: Tasks, seed: int = 0) -> Scores:
    """The same, with distorted copies of each image of the context."""
    with pf.seeded(seed):
        copies = tasks.context_x.repeat(1, COPIES, 1)
        distorted = Distortion()(copies.flatten(0, 1).unflatten(1, (SIDE, SIDE))).flatten(1)
    x = torch.cat([tasks.context_x, distorted.unflatten(0, copies.shape[:2])], dim=1)
    y = tasks.context_y.repeat(1, COPIES + 1)
    return ridge(features, Tasks(x, y, tasks.query_x, tasks.query_y, tasks.groups))


@dataclass(frozen=True)
class Method:
    """A way to answer; ``is_tempered`` says that its scores need a temperature, fitted on training alphabets."""

    name: str
    scores: Callable[[Tasks], Scores]
    is_tempered: bool = True
    version: str = ""
    """What tells two models of one name apart."""
    most_ways: float = math.inf
    contexts: tuple[float, float] = (0, math.inf)
    """The least and the most images of a context that the method is for."""

    def takes(self, ways: int, shots: int) -> bool:
        """Whether tasks of this shape are what the method is for."""
        return ways <= self.most_ways and self.contexts[0] <= ways * shots <= self.contexts[1]


def fixed_methods() -> list[Method]:
    """Everything that needs no training."""
    kinds: dict[str, Features] = {"pixels": pixels, "centred pixels": centred, "orientation maps": orientation_maps}
    found = []
    for name, features in kinds.items():
        found.append(Method(f"nearest neighbour, {name}", lambda tasks, features=features: nearest(features, tasks)))
        found.append(Method(f"ridge, {name}", lambda tasks, features=features: ridge(features, tasks)))
    found.append(Method("ridge, orientation maps, copies", lambda tasks: ridge_with_copies(orientation_maps, tasks)))
    return found


def fitted_temperature(scores: Scores, labels: Tensor) -> float:
    """The factor of the scores of least log loss, by golden-section search over its logarithm."""

    def loss(log_factor: float) -> float:
        return float(nn.functional.cross_entropy((math.exp(log_factor) * scores).flatten(0, 1), labels.flatten()))

    low, high, share = -2.0, 6.0, (math.sqrt(5) - 1) / 2
    while high - low > 1e-3:
        first, second = high - share * (high - low), low + share * (high - low)
        low, high = (low, second) if loss(first) < loss(second) else (first, high)
    return math.exp((low + high) / 2)


def of_model(name: str) -> Method:
    """A released model or the folder of a saved one; probabilities are those of the classes of a task."""
    model = load(name)

    @torch.no_grad()
    def scores(tasks: Tasks) -> Scores:
        ppd = model.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
        return class_log_probs(ppd)[..., : tasks.ways]

    version = f"{model.card.name} {model.card.training.get('steps', 0)} {model.card.recipe.get('seed', 0)}"
    assert isinstance(model.problem.outcome, pf.Classes) and model.card.trained_context is not None
    taken = model.problem.outcome.count, model.card.trained_context
    return Method(f"model {name}", scores, False, version, *taken)
