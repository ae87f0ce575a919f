"""The truth of a pilot's questions: the exact predictive, kept on disk where it takes minutes to compute.

The oracle of a hyper-prior is a mixture of thousands of Normals, and its entropy costs their square. `tabulated`
evaluates it once: the masses of a few hundred cells that follow its quantiles, and the density in the middle of each.
Sums over the cells replace integrals over y, so that `metrics.divergence` and the floor of a head take milliseconds.
"""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal, constraints

from priorfit.checkpoint import holds_checkpoint, load_folder, save_folder
from priorfit.data import Batch
from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.quadrature import expectation_nodes

FOLDER = Path(__file__).parents[2] / "build" / "references"
NUM_CELLS = 256
CANDIDATES = 10_000
"""Points of a mixture's components, among which the table chooses its borders."""
LOGIT_REACH = 16.0
"""The cells cover the quantiles from sigmoid(-16) = 1e-7 on."""


class Tabulated(Distribution):
    """A distribution cut into narrow cells: their masses, and the density in the middle of each.

    Args:
        borders: increasing borders of the cells; a cell may be empty.
        masses: probabilities of the cells; what lies beyond the borders belongs to the outermost.
        log_density: log density of the distribution itself in the middle of each cell.
    """

    arg_constraints = {}
    support = constraints.real

    def __init__(
        self,
        borders: Float[Tensor, "*batch borders"],
        masses: Float[Tensor, "*batch cells"],
        log_density: Float[Tensor, "*batch cells"],
    ) -> None:
        self.borders, self.masses, self.log_density = borders, masses, log_density
        self.points = (borders[..., 1:] + borders[..., :-1]) / 2
        super().__init__(masses.shape[:-1], validate_args=False)

    @property
    def mean(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.mean`."""
        return (self.masses * self.points).sum(-1)

    def entropy(self) -> Float[Tensor, "*batch"]:
        """See `Distribution.entropy`."""
        return -(self.masses * self.log_density).sum(-1)

    def log_prob(self, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`; linear between the middles of the cells."""
        return self._between(self.points, self.log_density, value)

    def cdf(self, value: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """See `Distribution.cdf`; linear within each cell."""
        heights = torch.nn.functional.pad(self.masses.cumsum(-1), (1, 0))
        return self._between(self.borders, heights / heights[..., -1:], value)

    def _between(
        self,
        places: Float[Tensor, "*batch places"],
        heights: Float[Tensor, "*batch places"],
        value: Float[Tensor, "..."],
    ) -> Float[Tensor, "..."]:
        shape = torch.broadcast_shapes(value.shape, self.batch_shape)
        extra = shape[: len(shape) - len(self.batch_shape)]
        queries = value.expand(shape).to(places).reshape(-1, *self.batch_shape).movedim(0, -1).contiguous()
        right = torch.searchsorted(places, queries).clamp(1, places.shape[-1] - 1)
        low, high = places.gather(-1, right - 1), places.gather(-1, right)
        share = ((queries - low) / (high - low).clamp(min=torch.finfo(low.dtype).tiny)).clamp(0, 1)
        found = heights.gather(-1, right - 1).lerp(heights.gather(-1, right), share)
        return found.movedim(-1, 0).reshape(*extra, *self.batch_shape)


@expectation_nodes.register(Tabulated)
def _tabulated_nodes(
    target: Tabulated, num_nodes: int
) -> tuple[Float[Tensor, "nodes *batch"], Float[Tensor, "nodes *batch"]]:
    return target.points.movedim(-1, 0), target.masses.movedim(-1, 0)


def tabulated(mixture: NormalMixture, num_cells: int = NUM_CELLS) -> Tabulated:
    """A mixture of any number of Normals as a table, in float64."""
    rows = zip(*(part.double().flatten(0, -2) for part in (mixture.log_probs, mixture.loc, mixture.scale)), strict=True)
    tables = [_table(NormalMixture(*row, validate_args=False), num_cells) for row in rows]
    return Tabulated(*(torch.stack(part).unflatten(0, mixture.batch_shape) for part in zip(*tables, strict=True)))


def _table(one: NormalMixture, num_cells: int) -> tuple[Tensor, Tensor, Tensor]:
    """Borders, masses and log densities of one mixture.

    Half of the borders are near its quantiles, which reach far into both tails, half are spread evenly over each
    component, so that the way from one component to another far from it has cells too.
    """
    near = torch.linspace(-5.5, 5.5, max(15, CANDIDATES // len(one.loc)), dtype=one.loc.dtype)[:, None]
    candidates, order = (one.loc + one.scale * near).flatten().sort()
    normal, even = (-(near**2) / 2).softmax(0), torch.full_like(near, 1 / len(near))
    chosen = []
    for shares, count in ((normal, num_cells // 2), (even, num_cells - num_cells // 2 + 1)):
        logits = torch.linspace(-LOGIT_REACH, LOGIT_REACH, count, dtype=one.loc.dtype)
        levels = logits.sigmoid() if shares is normal else logits / (2 * LOGIT_REACH) + 0.5
        masses = (shares * one.probs).flatten()[order].cumsum(0)
        chosen.append(candidates[torch.searchsorted(masses, levels).clamp(max=len(masses) - 1)])
    borders = torch.cat(chosen).sort().values
    cdf = torch.special.ndtr((borders[1:-1, None] - one.loc) / one.scale) @ one.probs  # (inner borders)
    masses = torch.cat([cdf, cdf.new_ones(1)]) - torch.cat([cdf.new_zeros(1), cdf])
    return borders, masses, _log_density(one, (borders[1:] + borders[:-1]) / 2)


def _log_density(one: NormalMixture, points: Float[Tensor, " points"]) -> Float[Tensor, " points"]:
    """``one.log_prob(points)`` by one matrix product, ten times as fast: the exponent is a quadratic form in y."""
    centre = one.mean
    y, loc, precision = points - centre, one.loc - centre, one.scale**-2
    constants = one.log_probs - one.scale.log() - precision * loc**2 / 2 - math.log(2 * math.pi) / 2
    powers = torch.stack([torch.ones_like(y), y, y**2], dim=-1)  # (points, 3)
    return (powers @ torch.stack([constants, precision * loc, -precision / 2])).logsumexp(-1)


FIELDS: dict[type[Distribution], tuple[str, ...]] = {
    Normal: ("loc", "scale"),
    Tabulated: ("borders", "masses", "log_density"),
    Categorical: ("logits",),
}
"""The kinds of truth, and the tensors of each."""


def pieces(truth: Distribution, size: int) -> list[Distribution]:
    """The answers to ``size`` datasets each, in order."""
    names = FIELDS[type(truth)]
    parts = zip(*(getattr(truth, name).split(size) for name in names), strict=True)
    return [type(truth)(**dict(zip(names, part, strict=True))) for part in parts]


def joined(parts: list[Distribution]) -> Distribution:
    """The opposite of `pieces`."""
    kind = type(parts[0])
    return kind(**{name: torch.cat([getattr(part, name) for part in parts]) for name in FIELDS[kind]})


def kept(key: str, kind: type[Distribution], tasks: Batch, compute: Callable[[Batch], Distribution]) -> Distribution:
    """The result of ``compute`` for the tasks, from the disk where it was computed before under this key."""
    digest = hashlib.sha256(key.encode())
    for part in (tasks.context_x, tasks.context_y, tasks.query_x):
        digest.update(part.contiguous().numpy().tobytes())
    place = FOLDER / digest.hexdigest()[:16]
    if not holds_checkpoint(place):
        found = compute(tasks)
        save_folder(place, {"model": {name: getattr(found, name) for name in FIELDS[kind]}}, {"key": key})
    return kind(**load_folder(place)[0]["model"])
