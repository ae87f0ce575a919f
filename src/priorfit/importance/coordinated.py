"""A program as a function of standard Normal coordinates: its latents by their quantiles, its law as Normals."""

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution

from priorfit.importance.branches import Branches, branches_of
from priorfit.importance.coordinates import has_quantiles, values_at
from priorfit.importance.target import POINTS_AT_ONCE
from priorfit.priors.latents import Latent
from priorfit.priors.program import ProgramPrior
from priorfit.seeding import seeded

QUANTILE_DRAWS = 2**17
"""Draws of a latent whose quantiles stand for those that its law does not know."""


class Program:
    """A prior with a law as a function of standard Normal coordinates and of inputs."""

    def __init__(self, prior: ProgramPrior) -> None:
        self.prior = prior
        self.dimensions = sum(latent.size for latent in prior.latents)
        self._quantiles: dict[str, Tensor] = {}

    def latents(self, u: Float[Tensor, "draws dimensions"]) -> dict[str, Num[Tensor, "draws size"]]:
        """The latents at some coordinates."""
        found: dict[str, Tensor] = {}
        for latent, own in zip(
            self.prior.latents, u.double().split([each.size for each in self.prior.latents], dim=1), strict=True
        ):
            law = latent.law(found, len(u))
            value = values_at(law, own)[0] if knows_quantiles(law) else self._by_draws(latent, own)
            found |= self.prior.placed({latent.name: value}, torch.empty(0))
        return found

    def _by_draws(self, latent: Latent, u: Float[Tensor, "draws size"]) -> Float[Tensor, "draws size"]:
        """The quantiles of many draws, for a law that knows none of its own."""
        if latent.name not in self._quantiles:
            with seeded(0):
                drawn = latent.law({}, QUANTILE_DRAWS).sample()
            self._quantiles[latent.name] = drawn.double().sort(0).values  # (draws, size)
        place = (torch.special.ndtr(u) * QUANTILE_DRAWS - 0.5).clamp(0, QUANTILE_DRAWS - 1.001)
        below, table = place.long(), self._quantiles[latent.name]
        low, high = table.gather(0, below), table.gather(0, below + 1)
        return torch.lerp(low, high, place - below)

    def branches(self, u: Float[Tensor, "draws dimensions"], x: Float[Tensor, "nodes features"]) -> Branches:
        """The law at every coordinate and every input, as a mixture of Normals or as log odds, in float64."""
        at_once, parts = max(1, POINTS_AT_ONCE // len(x)), list[Branches]()
        for some in u.split(at_once):
            found = branches_of(self.law(some, x))
            assert found is not None  # `has_cells` has looked
            parts.append(found)
        joined = (torch.cat([getattr(part, name) for part in parts]) for name in ("mean", "scale", "log_share"))
        mean, scale, log_share = (bounded(each.double()) for each in joined)
        return Branches(mean, scale.clamp_min(1e-12), log_share, parts[0].is_odds)

    def law(self, u: Float[Tensor, "draws dimensions"], x: Float[Tensor, "nodes features"]) -> Distribution:
        """The law at every coordinate and every input, as the prior states it."""
        return self.prior.law(x.expand(len(u), -1, -1), self.prior.placed(self.latents(u), x))


def has_cells(prior: object) -> bool:
    """Whether a prior is a program whose latents and law can be split into cells: real ones, all of them."""
    if not isinstance(prior, ProgramPrior) or not prior.has_law or not real_latents(prior):
        return False
    with seeded(0):
        law = prior.law(prior.inputs.sample(4, 3, prior.num_features), prior.sample_latents(4))
    return branches_of(law) is not None


def real_latents(prior: ProgramPrior) -> bool:
    """Whether a program has latents, all of them real ones that coordinates can be mapped onto."""
    with seeded(0):
        drawn = prior.sample_latents(4)
    laws = [(latent, latent.law(drawn, 4)) for latent in prior.latents]
    return bool(laws) and not any(
        isinstance(law, Categorical | Bernoulli) or not (knows_quantiles(law) or not latent.parents)
        for latent, law in laws
    )


def knows_quantiles(law: Distribution) -> bool:
    """Whether `values_at` maps standard Normal coordinates onto a law."""
    return isinstance(law, Categorical | Bernoulli) or has_quantiles(law)


def bounded(numbers: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Finite numbers: far out in a prior, programs overflow."""
    return numbers.nan_to_num(0.0, 1e6, -1e6).clamp(-1e6, 1e6)
