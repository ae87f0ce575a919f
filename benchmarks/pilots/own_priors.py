"""Priors as a user would write them, of unlike kinds; written down once, and the same for every pilot."""

import torch
from torch import Tensor
from torch.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    LogNormal,
    MixtureSameFamily,
    Normal,
    StudentT,
    Uniform,
)
from torch.nn.functional import one_hot

import priorfit as pf
from priorfit.priors import Prior

EPIDEMIC_STEPS, GROUPS = 48, 10
"""Steps of the epidemic through time, and groups of the hierarchical prior."""


@pf.prior(num_features=1, frequency=Uniform(2.0, 10.0), decay=Uniform(0.0, 3.0))
def waves(x: Tensor, frequency: Tensor, decay: Tensor) -> Distribution:
    """Damped waves of unknown frequency and decay."""
    time = x[..., 0]
    return Normal(torch.sin(frequency * time) * torch.exp(-decay * time), 0.05)


@pf.prior(num_features=1, level=Uniform(0.5, 2.0), rate=Uniform(3.0, 15.0), middle=Uniform(0.2, 0.8))
def growth(x: Tensor, level: Tensor, rate: Tensor, middle: Tensor) -> Distribution:
    """Logistic growth to an unknown level."""
    return Normal(level * torch.sigmoid(rate * (x[..., 0] - middle)), 0.05)


@pf.prior(num_features=1, before=Normal(0.0, 1.0), after=Normal(0.0, 1.0), change=Uniform(0.1, 0.9))
def change_point(x: Tensor, before: Tensor, after: Tensor, change: Tensor) -> Distribution:
    """One jump between two levels, with heavy-tailed noise."""
    return StudentT(3.0, torch.where(x[..., 0] < change, before, after), 0.1)


@pf.prior(num_features=1, offset=Normal(0.0, 1.0), slope=Normal(0.0, 2.0), share=Uniform(0.2, 0.8))
def two_branches(x: Tensor, offset: Tensor, slope: Tensor, share: Tensor) -> Distribution:
    """A line or its mirror image at each point: the predictive has two peaks."""
    line = offset + slope * x[..., 0]
    branches = torch.stack([line, -line], dim=-1)  # (batch, points, 2)
    probs = torch.stack([share, 1 - share], dim=-1).expand_as(branches)
    return MixtureSameFamily(Categorical(probs), Normal(branches, 0.05))


@pf.prior(
    num_features=2,
    inputs=pf.UniformInputs(-1.0, 1.0),
    centre=Uniform(-0.5, 0.5).expand([2]),
    inner=Uniform(0.2, 0.5),
    width=Uniform(0.2, 0.5),
)
def rings(x: Tensor, centre: Tensor, inner: Tensor, width: Tensor) -> Distribution:
    """Three classes in rings around an unknown centre; one label in twenty is random."""
    distance = (x - centre[:, None]).norm(dim=-1)
    label = (distance > inner).long() + (distance > inner + width).long()
    return Categorical(0.95 * one_hot(label, 3) + 0.05 / 3)


@pf.prior(
    num_features=1,
    power=Uniform(1.0, 4.0),
    potency=Uniform(0.1, 0.9),
    floor=Normal(0.0, 0.3),
    effect=Uniform(0.5, 2.0),
    noise=Uniform(0.02, 0.2),
)
def dose_response(
    x: Tensor, power: Tensor, potency: Tensor, floor: Tensor, effect: Tensor, noise: Tensor
) -> Distribution:
    """A sigmoid in the logarithm of the dose, with unknown floor, effect, potency, slope and noise."""
    dose = x[..., 0].clamp_min(1e-3)
    return Normal(floor + effect * dose**power / (potency**power + dose**power), noise)


@pf.prior(
    num_features=1,
    elimination=LogNormal(0.5, 0.4),
    excess=LogNormal(2.0, 0.5),
    volume=LogNormal(0.0, 0.3),
    error=LogNormal(-2.5, 0.4),
)
def pharmacokinetics(x: Tensor, elimination: Tensor, excess: Tensor, volume: Tensor, error: Tensor) -> Distribution:
    """The concentration of a drug after a dose by mouth, absorbed faster than it is eliminated by an unknown excess."""
    time, absorption = x[..., 0], elimination + excess
    level = absorption / (volume * excess) * (torch.exp(-elimination * time) - torch.exp(-absorption * time))
    return Normal(level, error * level + 0.02)


@pf.prior(num_features=1, contacts=LogNormal(2.3, 0.3), recovery=LogNormal(1.2, 0.3), seeds=LogNormal(-4.0, 0.7))
def epidemic(x: Tensor, contacts: Tensor, recovery: Tensor, seeds: Tensor) -> Distribution:
    """The share of infected people, by steps through time from an unknown share at first."""
    infected = seeds.clamp_max(0.5)
    susceptible, course = 1 - infected, [infected]
    for _ in range(EPIDEMIC_STEPS):
        new = (contacts * susceptible * infected / EPIDEMIC_STEPS).clamp_max(susceptible)
        infected = infected + new - recovery * infected / EPIDEMIC_STEPS
        susceptible = susceptible - new
        course.append(infected)
    place = x[..., 0].clamp(0, 1) * EPIDEMIC_STEPS  # (batch, points)
    before = place.long().clamp_max(EPIDEMIC_STEPS - 1)
    table, share = torch.cat(course, dim=-1), place - before  # (batch, steps + 1)
    return Normal(torch.lerp(table.gather(1, before), table.gather(1, before + 1), share), 0.02)


@pf.prior(
    num_features=1,
    centre=Normal(0.0, 1.0),
    spread=LogNormal(-0.7, 0.6),
    effect=lambda centre, spread: Normal(centre, spread).expand([len(centre), GROUPS]),
)
def groups(x: Tensor, centre: Tensor, spread: Tensor, effect: Tensor) -> Distribution:
    """Ten groups with effects of a common centre and spread; the input says which group an observation is of."""
    group = (x[..., 0] * GROUPS).long().clamp(0, GROUPS - 1)
    return Normal(effect.gather(1, group), 0.3)


@pf.prior(
    num_features=1, level=Normal(0.0, 1.0), slope=Normal(0.0, 2.0), bend=Normal(0.0, 4.0), place=Uniform(0.1, 0.9)
)
def kinked(x: Tensor, level: Tensor, slope: Tensor, bend: Tensor, place: Tensor) -> Distribution:
    """A line whose slope changes at an unknown place."""
    time = x[..., 0]
    return Normal(level + slope * time + bend * (time - place).clamp_min(0.0), 0.05)


@pf.prior(
    num_features=1,
    mean=Normal(0.0, 1.0),
    height=LogNormal(-0.3, 0.4),
    period=Uniform(0.15, 0.6),
    phase=Uniform(0.0, 1.0),
)
def seasonal(x: Tensor, mean: Tensor, height: Tensor, period: Tensor, phase: Tensor) -> Distribution:
    """A season of unknown period, phase and height around an unknown mean."""
    return Normal(mean + height * torch.sin(2 * torch.pi * (x[..., 0] / period + phase)), 0.1)


@pf.prior(num_features=1, place=Uniform(0.0, 1.0), sharpness=LogNormal(2.0, 0.5), guessing=Uniform(0.0, 0.4))
def psychometric(x: Tensor, place: Tensor, sharpness: Tensor, guessing: Tensor) -> Distribution:
    """Whether a stimulus is seen: a threshold of unknown place and sharpness, above an unknown rate of guesses."""
    return Bernoulli(guessing + (1 - guessing) * torch.sigmoid(sharpness * (x[..., 0] - place)))


@pf.prior(
    num_features=2,
    inputs=pf.UniformInputs(-1.0, 1.0),
    level=Normal(0.0, 1.0).expand([2]),
    taste=Normal(0.0, 1.5).expand([2]),
)
def choices(x: Tensor, level: Tensor, taste: Tensor) -> Distribution:
    """A choice among three: the worth of two of them depends on one feature each, beside the third."""
    worth = level[:, None] + taste[:, None] * x  # (batch, points, 2)
    return Categorical(logits=torch.cat([worth, torch.zeros_like(worth[..., :1])], dim=-1))


@pf.prior(num_features=1)
def own_gp(x: Tensor) -> Tensor:
    """A Gaussian process that a user draws without telling us that it is one (RBF, lengthscale 0.3, noise 1e-4)."""
    distance = x - x.mT
    covariance = torch.exp(-0.5 * (distance / 0.3) ** 2).double()
    factor = torch.linalg.cholesky(covariance + 1e-4 * torch.eye(x.shape[1], dtype=torch.float64))
    return (factor @ torch.randn(*x.shape[:2], 1, dtype=torch.float64))[..., 0].to(x.dtype)


GP = pf.GaussianProcess(num_features=1, lengthscale=0.3, noise=1e-4)
OTHER_GP = pf.GaussianProcess(num_features=1, kernel="matern32", lengthscale=0.5, noise=1e-3)

OWN: dict[str, Prior] = {
    prior.name: prior for prior in (waves, growth, change_point, rings, two_branches, dose_response)
}
NINE: dict[str, Prior] = OWN | {prior.name: prior for prior in (pharmacokinetics, epidemic, groups)}
"""The six that the race is judged on, and three more; learning is measured on all of them."""
ALL: dict[str, Prior] = NINE | {prior.name: prior for prior in (kinked, seasonal, psychometric, choices)}
"""The nine, two kinds of four latents that turned out hard, and two laws of classes that do not jump."""

KNOWN: dict[str, tuple[Prior, Prior | None]] = {
    "Mixture([GP, GP])": (pf.Mixture([GP, OTHER_GP]), pf.Mixture([GP, OTHER_GP])),
    "a user's own GP": (own_gp, GP),
    "Standardized(GP)": (pf.Standardized(GP), None),
}
"""Priors made of Gaussian processes, each with the one whose exact posterior is the truth."""
