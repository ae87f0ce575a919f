"""p(y | x, latents) as a small network, which learns it from draws of a simulator."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, MixtureSameFamily, Normal

from priorfit.data import Classes, Outcome
from priorfit.importance.coordinates import coordinates_of
from priorfit.priors.latents import Latent
from priorfit.priors.prior import Prior
from priorfit.seeding import seeded

WIDTH, LAYERS, HARMONICS = 64, 6, 3
"""The hidden layers, and how many sines and cosines a network has of each input, each of twice the frequency."""

FARTHEST = 8.0
"""Bound of the coordinates of latents."""

LEAST_LOG_SCALE, MOST_LOG_SCALE = -12.0, 6.0
"""Bounds of log standard deviations, in units of the targets'."""

ROWS_AT_ONCE = 2**13
"""Points at which a law is asked for at a time, so that hidden layers stay in the cache."""

SEEN = 1_024
"""Datasets from which units are taken, of `SEEN_POINTS` points each."""

SEEN_POINTS = 8

Inputs = Float[Tensor, "*batch features"]
Coordinates = Float[Tensor, "*batch coordinates"]
Numbers = Float[Tensor, "*batch _"]


@dataclass(frozen=True)
class Form:
    """What a law of reals is made of: ``branches`` Normals of ``means`` means, one for all or one for each."""

    means: int
    branches: int

    @property
    def count(self) -> int:
        """Numbers that a network gives for each law."""
        return self.means + 2 * self.branches

    def parts(self, numbers: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Means, standard deviations and log shares, in units of the targets."""
        means, log_scales, logits = numbers.split([self.means, self.branches, self.branches], dim=-1)
        return means, log_scales.clamp(LEAST_LOG_SCALE, MOST_LOG_SCALE).exp(), logits.log_softmax(-1)

    def log_prob(self, numbers: Numbers, y: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """The log density of targets in their units."""
        means, scales, log_shares = self.parts(numbers)
        each = -0.5 * ((y[..., None] - means) / scales).square() - scales.log() - 0.5 * math.log(2 * math.pi)
        return (log_shares + each).logsumexp(-1)

    def residual(self, numbers: Numbers, y: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch 1"]:
        """Targets less their mean, in units of their deviation."""
        means, scales, log_shares = self.parts(numbers)
        shares = log_shares.exp()
        mean = (shares * means).sum(-1)
        variance = (shares * (scales.square() + (means - mean[..., None]).square())).sum(-1)
        return ((y - mean) / variance.sqrt())[..., None].clamp(-FARTHEST, FARTHEST)

    def start(self) -> Float[Tensor, " numbers"]:
        """The numbers to begin with: means apart from each other, and scales too."""
        apart = torch.linspace(-1, 1, self.means) if self.means > 1 else torch.zeros(1)
        scales = torch.linspace(-1, 1, self.branches) if self.means < self.branches else torch.zeros(self.branches)
        return torch.cat([apart, scales, torch.zeros(self.branches)])


@dataclass(frozen=True)
class Labels:
    """A law of classes, by its logits."""

    count: int

    def log_prob(self, numbers: Numbers, y: Num[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """The log probability of labels."""
        return numbers.log_softmax(-1).gather(-1, y.long()[..., None])[..., 0]

    def residual(self, numbers: Numbers, y: Num[Tensor, "*batch"]) -> Float[Tensor, "*batch classes"]:
        """Each label as ones and zeros, less their probabilities."""
        return nn.functional.one_hot(y.long(), self.count) - numbers.softmax(-1)

    def start(self) -> Float[Tensor, " numbers"]:
        """Classes of equal probability."""
        return torch.zeros(self.count)


FORMS = (Form(1, 1), Form(1, 4), Form(2, 2))
"""Laws of reals, the cheapest first: a Normal; a mixture of one mean, for heavy tails; two branches."""


def forms_of(outcome: Outcome) -> tuple[Form | Labels, ...]:
    """The forms that a law of some outcome may have."""
    return (Labels(outcome.count),) if isinstance(outcome, Classes) else FORMS


class Features(nn.Module):
    """Inputs in units of their range, with harmonics."""

    middle: Tensor
    reach: Tensor

    def __init__(self, x: Float[Tensor, "batch points features"]) -> None:
        super().__init__()
        low, high = x.flatten(0, 1).amin(0), x.flatten(0, 1).amax(0)
        self.register_buffer("middle", (low + high) / 2)
        self.register_buffer("reach", ((high - low) / 2).clamp_min(1e-12))
        self.count = x.shape[-1] * (1 + 2 * HARMONICS)

    def forward(self, x: Inputs) -> Numbers:
        """Numbers in about [-1, 1]."""
        place = (x - self.middle) / self.reach
        waves = [math.pi / 2 * 2**power * place for power in range(HARMONICS)]
        return torch.cat([place, *(each.sin() for each in waves), *(each.cos() for each in waves)], dim=-1)


class LawNetwork(nn.Module):
    """A trunk of hidden layers, and a linear layer for each form that a law may have."""

    shift: Tensor
    scale: Tensor

    def __init__(self, prior: Prior, latents: tuple[Latent, ...], seed: int) -> None:
        super().__init__()
        self.latents, self.forms = latents, forms_of(prior.outcome)
        with seeded(seed):
            seen = prior.sample(SEEN, SEEN_POINTS)
            self.features = Features(seen.x)
            dimensions = sum(latent.size for latent in latents)
            self.first = nn.Linear(self.features.count + dimensions, WIDTH)
            self.hidden = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS - 1))
            self.heads = nn.ModuleList(head(form) for form in self.forms)
        is_real = seen.y.is_floating_point() and not isinstance(prior.outcome, Classes)
        self.register_buffer("shift", seen.y.mean() if is_real else torch.zeros(()))
        self.register_buffer("scale", seen.y.std().clamp_min(1e-12) if is_real else torch.ones(()))

    def matrices(self) -> list[nn.Parameter]:
        """The weights that Muon updates."""
        return [weight for weight in self.hidden.parameters() if weight.ndim == 2]

    def coordinates(self, latents: Mapping[str, Num[Tensor, "batch size"]]) -> Coordinates:
        """Standard Normal coordinates of latents."""
        count = len(next(iter(latents.values())))
        found = [coordinates_of(each.law(latents, count), latents[each.name].cpu()) for each in self.latents]
        return torch.cat(found, dim=-1).clamp(-FARTHEST, FARTHEST).float()

    def forward(self, x: Inputs, u: Coordinates) -> Numbers:
        """The last hidden layer."""
        state = nn.functional.gelu(self.first(torch.cat([self.features(x), u], dim=-1)))
        for layer in self.hidden:
            state = state + nn.functional.gelu(layer(state))
        return state

    def log_prob(self, hidden: Numbers, y: Num[Tensor, "*batch"], place: int) -> Float[Tensor, "*batch"]:
        """The log density of targets, in the units of `in_units`, in the form of some place."""
        return self.forms[place].log_prob(self.heads[place](hidden), y)

    def in_units(self, y: Num[Tensor, "*batch"]) -> Num[Tensor, "*batch"]:
        """Targets in the units in which laws are learned; labels as they are."""
        return (y - self.shift) / self.scale if isinstance(self.forms[0], Form) else y

    @torch.no_grad()
    def law(
        self, x: Float[Tensor, "batch points features"], latents: Mapping[str, Num[Tensor, "batch size"]], place: int
    ) -> Distribution:
        """The law in the form of some place, in the units of the prior."""
        u = self.coordinates(latents)
        at_once = max(1, ROWS_AT_ONCE // x.shape[1])
        pieces = zip(x.float().split(at_once), u.split(at_once), strict=True)
        numbers = torch.cat(
            [self.heads[place](self(some, few[:, None].expand(-1, some.shape[1], -1))) for some, few in pieces]
        )
        form = self.forms[place]
        if isinstance(form, Labels):
            return Categorical(logits=numbers, validate_args=False)
        means, scales, log_shares = form.parts(numbers)
        parts = Normal(self.shift + self.scale * means, self.scale * scales, validate_args=False)
        if form.branches == 1:
            return Normal(parts.loc[..., 0], parts.scale[..., 0], validate_args=False)
        shares = Categorical(logits=log_shares, validate_args=False)
        return MixtureSameFamily(shares, parts, validate_args=False)


def head(form: Form | Labels) -> nn.Linear:
    """A linear layer that gives the numbers of a law, alike everywhere at first."""
    layer = nn.Linear(WIDTH, form.count)
    with torch.no_grad():
        layer.weight.mul_(0.1)
        layer.bias.copy_(form.start())
    return layer
