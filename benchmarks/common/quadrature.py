"""The posterior of at most three latents by quadrature: cells of the prior that are halved where the posterior lies.

Each latent has a standard Normal coordinate through the quantile function of its prior. A grid of cells covers all of
them; a cell's posterior mass is its exact prior mass times the likelihood at its middle. In each round the cells of the
largest mass are halved along every axis, until none holds more than 3e-5. Nothing is random, and
nothing is shared with importance sampling but the prior's own function.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution
from torch.quasirandom import SobolEngine
from torch.special import ndtr, ndtri

from priorfit.importance import ParticlePosterior, Particles
from priorfit.priors import ProgramPrior

WIDEST = 8.0
"""Coordinates reach this far on either side; what lies beyond has a prior mass of 1e-15."""

FIRST_EDGES = torch.cat([torch.tensor([-WIDEST]), torch.linspace(-5, 5, 21), torch.tensor([WIDEST])]).double()

SEARCHED, SEARCH_ROUNDS = 8_192, 5
"""In the first rounds so many cells of the largest mass are halved, however small it is: a peak may hide in them."""

FINE, COARSE = 3e-5, 1.2e-4
"""Afterwards cells are halved whose posterior mass is above this; both answers are compared."""

MOST_ROUNDS = 24
MIXED = 16_384
"""Cells that a predictive is a mixture over."""

POINTS_AT_ONCE = 2**21


@dataclass(frozen=True)
class Quadrature:
    """The posterior of one dataset on cells, whose edges are levels of the prior."""

    prior: ProgramPrior
    low: Float[Tensor, "cells latents"]
    high: Float[Tensor, "cells latents"]
    log_mass: Float[Tensor, " cells"]
    log_evidence: float
    change: float
    """How much finer cells have changed log evidence, or the posterior mass at the deciles of a margin."""

    @property
    def weights(self) -> Float[Tensor, " cells"]:
        """The posterior mass of each cell."""
        return self.log_mass.softmax(0)

    def cdf(self, place: int, levels: Float[Tensor, " levels"]) -> Float[Tensor, " levels"]:
        """The posterior mass of one latent up to some levels of its prior; within a cell it is as the prior's."""
        low, high = self.low[:, place], self.high[:, place]
        edges = torch.cat([low, high])
        slopes = torch.cat([self.weights / (high - low), -self.weights / (high - low)])
        order = edges.argsort()
        edges, slopes = edges[order], slopes[order].cumsum(0)
        total = torch.cat([torch.zeros(1, dtype=torch.float64), (slopes[:-1] * edges.diff()).cumsum(0)])
        index = torch.searchsorted(edges, levels).sub(1).clamp(0, len(edges) - 1)
        inside = total[index] + slopes[index] * (levels - edges[index])
        return torch.where(levels <= edges[0], 0.0, inside).clamp(0, 1)

    def log_density(self, place: int, level: float) -> float:
        """The log density of one latent at a level of its prior, relative to the prior."""
        width = 0.5 * float(((self.high - self.low)[:, place] * self.weights).sum())
        ends = torch.tensor([level - width, level + width], dtype=torch.float64).clamp(0, 1)
        masses = self.cdf(place, ends)
        return float(((masses[1] - masses[0]) / (ends[1] - ends[0])).clamp_min(1e-300).log())

    def predict(self, x: Float[Tensor, "points features"]) -> Distribution:
        """The posterior predictive, batch shape ``(1, points)``, over cells at equal steps of the cumulative mass.

        Places within a cell are Sobol points: the law of a new point may differ within a cell that is not halved.
        """
        order = self.low[:, 0].argsort()
        steps = (torch.arange(MIXED, dtype=torch.float64) + 0.5) / MIXED
        chosen = order[torch.searchsorted(self.weights[order].cumsum(0), steps).clamp(max=len(order) - 1)]
        places = SobolEngine(self.low.shape[1]).draw(MIXED, dtype=torch.float64) + 0.5 / MIXED
        levels = self.low[chosen] + places * (self.high - self.low)[chosen]
        latents = {name: value[None].to(x.dtype) for name, value in values_at(self.prior, levels).items()}
        particles = Particles(latents, torch.zeros(1, MIXED, dtype=torch.float64))
        return ParticlePosterior(self.prior, particles, torch.Size((1,))).predict(x[None])


def quadrature(
    prior: ProgramPrior,
    x: Float[Tensor, "points features"],
    y: Float[Tensor, " points"],
    steps: Mapping[str, Float[Tensor, " edges"]] | None = None,
) -> Quadrature:
    """The posterior of a prior's latents after one dataset.

    ``steps`` holds the latents in which the likelihood is a step function, each with the values at which it jumps: a
    cell between two of them is exact, and is not halved.
    """
    steps = steps or {}
    edges = [
        FIRST_EDGES if latent.name not in steps else edges_at(cast(Distribution, latent.source), steps[latent.name])
        for latent in prior.latents
    ]
    halved = torch.tensor([latent.name not in steps for latent in prior.latents])
    low, high = (grid([each[part] for each in edges]) for part in (slice(None, -1), slice(1, None)))
    cells = Cells(low, high, log_masses(prior, x, y, low, high))
    answers = []
    for largest in (COARSE, FINE):
        cells = refined(cells, largest, halved, partial(log_masses, prior, x, y))
        levels = (ndtr(cells.low), ndtr(cells.high))
        answers.append(Quadrature(prior, *levels, cells.log_mass, float(cells.log_mass.logsumexp(0)), torch.inf))
    return replace(answers[1], change=difference(*answers))


@dataclass(frozen=True)
class Cells:
    """Boxes of coordinates, and the logarithms of their posterior masses, up to a constant."""

    low: Float[Tensor, "cells latents"]
    high: Float[Tensor, "cells latents"]
    log_mass: Float[Tensor, " cells"]


def refined(cells: Cells, largest: float, halved: Tensor, log_masses: Callable[[Tensor, Tensor], Tensor]) -> Cells:
    """Halve cells until none holds more than a share of the posterior mass."""
    for turn in range(MOST_ROUNDS):
        chosen = cells.log_mass.softmax(0) > largest
        if turn < SEARCH_ROUNDS and largest == COARSE:
            chosen[cells.log_mass.topk(min(SEARCHED, len(chosen))).indices] = True
        if not bool(chosen.any()) or not bool(halved.any()):
            break
        low, high = split(cells.low[chosen], cells.high[chosen], halved)
        parts = ((cells.low, low), (cells.high, high), (cells.log_mass, log_masses(low, high)))
        cells = Cells(*(torch.cat([old[~chosen], new]) for old, new in parts))
    return cells


def grid(axes: list[Float[Tensor, " cells"]]) -> Float[Tensor, "cells latents"]:
    """All combinations of the numbers of each axis."""
    return torch.stack([each.flatten() for each in torch.meshgrid(axes, indexing="ij")], dim=-1)


def edges_at(law: Distribution, values: Float[Tensor, " edges"]) -> Float[Tensor, " coordinates"]:
    """Coordinates of the values at which a likelihood jumps, and both ends; the prior may not reach all of them."""
    reached = values.double()[law.support.check(values.double())]  # pyright: ignore[reportOptionalMemberAccess]
    inside = ndtri(cast(Tensor, law.cdf(reached)).double())
    ends = torch.tensor([-WIDEST, WIDEST], dtype=torch.float64)
    return torch.cat([ends, inside[inside.abs() < WIDEST]]).unique()


def values_at(prior: ProgramPrior, levels: Float[Tensor, "cells latents"]) -> dict[str, Float[Tensor, "cells 1"]]:
    """Latents at levels of their priors."""
    return {
        latent.name: cast(Tensor, cast(Distribution, latent.source).icdf(levels[:, [place]]))
        for place, latent in enumerate(prior.latents)
    }


def log_masses(
    prior: ProgramPrior,
    x: Float[Tensor, "points features"],
    y: Float[Tensor, " points"],
    low: Float[Tensor, "cells latents"],
    high: Float[Tensor, "cells latents"],
) -> Float[Tensor, " cells"]:
    """Prior mass times likelihood of each cell; on the side of 0 that loses no digits."""
    towards_zero = torch.where((low > 0)[None], torch.stack([-high, -low]), torch.stack([low, high]))
    log_prior = (ndtr(towards_zero[1]) - ndtr(towards_zero[0])).clamp_min(1e-300).log().sum(-1)
    parts = []
    for some in torch.arange(len(low)).split(max(1, POINTS_AT_ONCE // max(1, len(y)))):
        latents = {
            name: value.to(x.dtype) for name, value in values_at(prior, ndtr((low[some] + high[some]) / 2)).items()
        }
        count = len(some)
        parts.append(prior.log_likelihood(x.expand(count, *x.shape), y.expand(count, -1), latents))
    return log_prior + torch.cat(parts)


def split(
    low: Float[Tensor, "cells latents"], high: Float[Tensor, "cells latents"], halved: Tensor
) -> tuple[Float[Tensor, "more latents"], Float[Tensor, "more latents"]]:
    """Each cell in two along every axis that is halved."""
    middle = (low + high) / 2
    lows, highs = [], []
    for upper in product(*((False, True) if each else (False,) for each in halved.tolist())):
        is_upper = torch.tensor(upper)
        lows.append(torch.where(is_upper, middle, low))
        highs.append(torch.where(is_upper | ~halved, high, middle))
    return torch.cat(lows), torch.cat(highs)


def difference(one: Quadrature, other: Quadrature) -> float:
    """The largest change of log evidence and of the posterior mass at the deciles of each margin."""
    changes = [abs(one.log_evidence - other.log_evidence)]
    levels = torch.linspace(0.1, 0.9, 9, dtype=torch.float64)
    for place in range(other.low.shape[1]):
        order = other.low[:, place].argsort()
        middles = ((other.low + other.high) / 2)[order, place]
        index = torch.searchsorted(other.weights[order].cumsum(0), levels).clamp(max=len(middles) - 1)
        at = middles[index]
        changes.append(float((one.cdf(place, at) - other.cdf(place, at)).abs().max()))
    return max(changes)
