"""The state of the page: the points, and every number that is drawn, without how it is drawn."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.distributions import Distribution

from priorfit.demo.subject import Subject
from priorfit.errors import InputError
from priorfit.network.posterior import PFNPosterior
from priorfit.predictor import Posterior, Predictor

LEVELS = (0.025, 0.25, 0.75, 0.975)
SHADE_POWER = 0.4
"""Colours follow this power of the density, so that broad and narrow densities are both visible."""
NUM_SLICE_VALUES = 600
SURPRISE = 1e-4
"""Points whose tail probability given the others is smaller than this get a remark."""
SURPRISE_DRAWS = 99
"""Draws of the prior that points are compared with: enough for two digits of a p-value."""
MOST_CHECKED = 60
"""Most points that are checked: the check conditions once for each point left out, which takes too long for more."""


MOST_POINTS = 200
"""Most points on the page: networks are trained with about 100, and thousands would block the server."""


@dataclass(frozen=True)
class Points:
    """The context as it was set by hand."""

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()

    @classmethod
    def of(cls, x: Iterable[float], y: Iterable[float]) -> "Points":
        """Points from two columns."""
        try:
            return cls(tuple(map(float, x)), tuple(map(float, y)))
        except (TypeError, ValueError) as error:
            raise InputError(f"points are two columns of numbers; got something else ({error}).") from error

    def __len__(self) -> int:
        return len(self.x)

    @property
    def tensors(self) -> tuple[Float[Tensor, "context 1"], Float[Tensor, " context"]]:
        """Context inputs and targets."""
        return torch.tensor(self.x, dtype=torch.float32)[:, None], torch.tensor(self.y, dtype=torch.float32)

    def without(self, indices: Sequence[int]) -> "Points":
        """The points without those at some indices."""
        kept = [i for i in range(len(self)) if i not in set(indices)]
        return Points(tuple(self.x[i] for i in kept), tuple(self.y[i] for i in kept))

    def first(self, count: int) -> "Points":
        """The first points."""
        return Points(self.x[:count], self.y[:count])

    def inside(self, subject: Subject) -> "Points":
        """The points inside of the window of a model."""
        (left, right), (low, high) = subject.x_range, subject.y_range
        outside = [
            i
            for i, (x, y) in enumerate(zip(self.x, self.y, strict=True))
            if not (left <= x <= right and low <= y <= high)
        ]
        return self.without(outside)


@dataclass(frozen=True)
class Bands:
    """Mean and the limits of the central 50 % and 95 % intervals at each query."""

    mean: Float[np.ndarray, " query"]
    low95: Float[np.ndarray, " query"]
    low50: Float[np.ndarray, " query"]
    high50: Float[np.ndarray, " query"]
    high95: Float[np.ndarray, " query"]


@dataclass(frozen=True)
class Answer:
    """The posterior predictive of one predictor given the points."""

    points: Points
    posterior: Posterior
    ppd: Distribution
    bands: Bands
    milliseconds: float
    """Milliseconds from the points to the bands."""


@torch.no_grad()
def answer(subject: Subject, points: Points, who: Literal["model", "reference"] = "model") -> Answer:
    """Condition on the points, predict the whole window."""
    start = time.perf_counter()
    posterior = _predictor(subject, who).condition(*points.tensors)
    ppd = posterior.predict(subject.query_x)
    low95, low50, high50, high95 = ppd.icdf(torch.tensor(LEVELS)[:, None]).numpy()
    bands = Bands(ppd.mean.numpy(), low95, low50, high50, high95)
    return Answer(points, posterior, ppd, bands, 1e3 * (time.perf_counter() - start))


def _predictor(subject: Subject, who: Literal["model", "reference"]) -> Predictor:
    if who == "model":
        return subject.model
    assert subject.reference is not None
    return subject.reference.predictor


@torch.no_grad()
def cell_density(ppd: Distribution, edges: Float[Tensor, " edges"]) -> Float[np.ndarray, "values query"]:
    """The mean density between neighbouring edges: a ridge that is narrower than a cell is not missed."""
    # A few rows at a time: a distribution of a thousand buckets would otherwise need gigabytes.
    cdf = torch.cat([ppd.cdf(some[:, None]) for some in edges.split(32)])  # (edges, query)
    return (cdf.diff(dim=0) / edges.diff()[:, None]).clamp_min(0).numpy()


def shades(density: Float[np.ndarray, "values query"]) -> UInt8[np.ndarray, "values query"]:
    """Densities as 256 shades, from 0 to the brightest.

    The brightest is the median over x of the highest density there, as peaks at the points dwarf all else.
    """
    top = max(float(np.median(density.max(axis=0))), 1e-12)
    return (255 * np.clip(density / top, 0, 1) ** SHADE_POWER).round().astype(np.uint8)


@dataclass(frozen=True)
class CrossSection:
    """The density of y at one x."""

    x: float
    values: Float[np.ndarray, " values"]
    density: Float[np.ndarray, " values"]


@torch.no_grad()
def cross_section(subject: Subject, given: Answer, x: float) -> CrossSection:
    """The predictive density at one x."""
    edges = torch.linspace(*subject.y_range, NUM_SLICE_VALUES + 1)
    density = cell_density(given.posterior.predict(torch.tensor([[x]])), edges)[:, 0]
    return CrossSection(x, ((edges[:-1] + edges[1:]) / 2).numpy(), density)


def surprise_status(given: Answer) -> str:
    """A p-value for "the prior drew these points", in a few words; none where there are no points or too many."""
    if not 0 < len(given.points) <= MOST_CHECKED:
        return ""
    assert isinstance(given.posterior, PFNPosterior)
    return given.posterior.surprise(draws=SURPRISE_DRAWS).status


def remarks(subject: Subject, points: Points) -> list[str]:
    """Remarks for the user about these points and this model."""
    found, trained = [], subject.trained_context
    if len(points) >= MOST_POINTS:
        found.append(f"The page takes at most {MOST_POINTS} points. Delete some to set others.")
    if trained is not None and not trained[0] <= len(points) <= trained[1]:
        found.append(f"The model was trained on {trained[0]} to {trained[1]} points, not on {len(points)}.")
    if has_surprise(subject, points):
        found.append("This prior would hardly ever draw such points: the network has seen nothing like them.")
    return found


@torch.no_grad()
def has_surprise(subject: Subject, points: Points) -> bool:
    """Whether the exact posterior given the other points excludes one of them; False where there is none."""
    count = len(points)
    if subject.reference is None or subject.reference.is_slow or not 0 < count <= MOST_CHECKED:
        return False
    x, y = points.tensors
    others = torch.tensor([[j for j in range(count) if j != i] for i in range(count)], dtype=torch.long)
    others = others.reshape(count, count - 1)  # (left out, others)
    ppd = subject.reference.predictor.condition(x[others], y[others]).predict(x[:, None])
    below = ppd.cdf(y[:, None])
    return 2 * torch.minimum(below, 1 - below).min().item() < SURPRISE / count
