"""The density that is sampled: latents of a program prior given datasets, over real coordinates."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.importance.coordinates import coordinates_of, drawn_coordinates, standard_normals, values_at
from priorfit.importance.sobol import sobol_points
from priorfit.priors.latents import Latents
from priorfit.priors.laws import log_likelihood
from priorfit.priors.program import ProgramPrior, placed

POINTS_AT_ONCE = 2**18
"""Most points at which a prior's function is called at once: larger calls leave the cache and are slower."""

FARTHEST = 1e4
"""The coordinate of a latent that rounding has put onto the edge of its support."""

Draws = Float[Tensor, "datasets draws coordinates"]


@dataclass(frozen=True)
class Target:
    """p(latents | datasets) up to a constant, for a batch of datasets; ``known`` latents are fixed."""

    prior: ProgramPrior
    x: Float[Tensor, "datasets points features"]
    y: Num[Tensor, "datasets points"]
    known: Mapping[str, Num[Tensor, "datasets size"]] = field(default_factory=dict)

    @property
    def dimension(self) -> int:
        """How many numbers are unknown."""
        return sum(latent.size for latent in self.prior.latents if latent.name not in self.known)

    def of(self, rows: Tensor) -> "Target":
        """The target of some of the datasets."""
        known = {name: value[rows] for name, value in self.known.items()}
        return Target(self.prior, self.x[rows], self.y[rows], known)

    def prior_draws(self, count: int) -> Draws:
        """Coordinates of draws of the prior: scrambled Sobol points, new ones for each call, shared by the datasets."""
        datasets = len(self.x)
        if not self.dimension:
            return torch.zeros(datasets, count, 0, dtype=torch.float64)
        standard = standard_normals(sobol_points(self.dimension, count)).expand(datasets, count, self.dimension)
        return self._walk(standard, draws_prior=True)[0]

    def log_prior(self, u: Draws) -> Float[Tensor, "datasets draws"]:
        """The log density of coordinates under the prior."""
        return self._walk(u)[1]

    def latents(self, u: Draws) -> dict[str, Num[Tensor, "datasets draws size"]]:
        """The latents at some coordinates, known ones included."""
        return self._walk(u)[2]

    def coordinates(self, latents: Mapping[str, Num[Tensor, "datasets draws size"]]) -> Draws:
        """The coordinates of latents, known ones left out; the inverse of `latents`."""
        datasets, count, _ = next(iter(latents.values())).shape
        flat = {name: value.flatten(0, 1) for name, value in latents.items()}
        found = [
            coordinates_of(latent.law(flat, datasets * count), flat[latent.name].cpu())
            for latent in self.prior.latents
            if latent.name not in self.known
        ]
        table = torch.cat(found, dim=-1) if found else torch.zeros(datasets * count, 0, dtype=torch.float64)
        return table.nan_to_num(0.0, FARTHEST, -FARTHEST).unflatten(0, (datasets, count))

    def evaluated(self, u: Draws) -> tuple[Float[Tensor, "datasets draws"], Float[Tensor, "datasets draws"]]:
        """The log prior density of coordinates, and the log likelihood there (of known latents too)."""
        _, log_prior, latents, log_known = self._walk(u)
        return log_prior, log_known + self.log_likelihood(latents)

    def log_likelihood(
        self, latents: Mapping[str, Num[Tensor, "datasets draws size"]]
    ) -> Float[Tensor, "datasets draws"]:
        """log p(y | x, latents) of every draw for every dataset, in float64."""
        datasets, points = self.y.shape
        count = next(iter(latents.values())).shape[1]
        if not points:
            return torch.zeros(datasets, count, dtype=torch.float64)
        some = max(1, POINTS_AT_ONCE // (datasets * points))
        parts = []
        for start in range(0, count, some):
            part = {name: value[:, start : start + some].flatten(0, 1) for name, value in latents.items()}
            repeats = min(some, count - start)
            x, y = (each.repeat_interleave(repeats, 0) for each in (self.x, self.y))
            parts.append(self.prior.log_likelihood(x, y, part).unflatten(0, (datasets, repeats)))
        return torch.cat(parts, dim=1)

    def _walk(self, u: Draws, draws_prior: bool = False) -> tuple[Draws, Tensor, dict[str, Tensor], Tensor]:
        """Latent after latent: coordinates, their log density, values, and the log density of known latents."""
        datasets, count, _ = u.shape
        flat, batch = u.flatten(0, 1), datasets * count
        values: Latents = {}
        coordinates, log_prior, log_known, start = [], torch.zeros(batch, dtype=torch.float64), torch.zeros(batch), 0
        for latent in self.prior.latents:
            law = latent.law(values, batch)
            if latent.name in self.known:
                value = self.known[latent.name].repeat_interleave(count, 0)
                log_known = log_known + log_likelihood(law, value.cpu())
            else:
                own, start = flat[:, start : start + latent.size], start + latent.size
                own = drawn_coordinates(law, own) if draws_prior else own
                value, log_density = values_at(law, own)
                coordinates.append(own)
                log_prior = log_prior + log_density.sum(-1)
            values[latent.name] = placed({"": value}, self.x)[""]
        joined = torch.cat(coordinates, dim=-1) if coordinates else flat
        shaped = {name: value.unflatten(0, (datasets, count)) for name, value in values.items()}
        tables = (each.double().unflatten(0, (datasets, count)) for each in (joined, log_prior, log_known))
        coordinates_, log_prior_, log_known_ = tables
        return coordinates_, log_prior_, shaped, log_known_
