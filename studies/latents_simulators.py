"""The simulators of `latents`: those of the benchmark sbibm, written anew as priors with named latents.

Each component of an observation is a point whose x is its index. Where the components are independent given the latents
the prior returns their law; else it returns draws, and `LIKELIHOODS` has that of all components. Observations are taken
on a scale on which a network can read them (roots of counts, logarithms of populations): the posterior is the same.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from latents_laws import RootCounts
from torch import Tensor
from torch.distributions import Bernoulli, Distribution, LogNormal, Normal, Uniform

import priorfit as pf
from priorfit.priors import Inputs, ProgramPrior

Points = Float[Tensor, "batch points 1"]
Values = Float[Tensor, "batch components"]

MOONS_RADIUS, MOONS_SPREAD, MOONS_SHIFT = 0.1, 0.01, 0.25
GAUSSIAN_VARIANCE = 0.1
"""The variance of each parameter, and of the noise of each component."""
POPULATION, SAMPLED, EVERY_DAYS = 1e6, 1000, 17
"""People, of whom so many are tested every 17 days."""
EVERY_TIME, NOISE = 2.1, 0.1
"""Time between counts of prey and predators, and the standard deviation of the logarithm of a count."""
LV_STEPS = 105
"""Steps of the solver between two counts, 0.02 each."""
SLCP_VARIANCE = 1e-6
"""What the benchmark adds to variances."""


@dataclass(frozen=True)
class IndexInputs(Inputs):
    """The indices of ``count`` components in random order; each occurs once before any occurs again."""

    count: int

    @property
    def range(self) -> tuple[float, float]:
        """See `Inputs.range`."""
        return 0.0, float(self.count - 1)

    def sample(self, batch_size: int, num_points: int, num_features: int) -> Float[Tensor, "batch points features"]:
        """See `Inputs.sample`."""
        rounds = math.ceil(num_points / self.count)
        orders = torch.rand(batch_size, rounds, self.count).argsort(-1).flatten(1)[:, :num_points]
        return orders[..., None].expand(-1, -1, num_features).float()


def component(values: Values, x: Points) -> Float[Tensor, "batch points"]:
    """The components that x names."""
    return values.gather(1, index_of(x))


def in_order(x: Points, y: Values) -> Values:
    """All components in the order of their indices; a likelihood that joins them needs each once."""
    order = index_of(x).argsort(1)
    if x.shape[1] != y.shape[1] or not bool((index_of(x).gather(1, order) == torch.arange(x.shape[1])).all()):
        raise ValueError("this likelihood needs each component of an observation once.")
    return y.gather(1, order)


def index_of(x: Points) -> Int[Tensor, "batch points"]:
    """The index of each point's component."""
    return x[..., 0].round().long()


def solved(
    slope: Callable[[Tensor], Tensor], start: Float[Tensor, "batch states"], times: int, steps: int, length: float
) -> Float[Tensor, "batch times states"]:
    """The states of a differential equation at 0, length, 2 length, ..., by the classical Runge-Kutta method."""
    state, found, step = start, [start], length / steps
    for _ in range(times - 1):
        for _ in range(steps):
            first = slope(state)
            second = slope(state + step / 2 * first)
            third = slope(state + step / 2 * second)
            fourth = slope(state + step * third)
            state = state + step / 6 * (first + 2 * second + 2 * third + fourth)
        found.append(state)
    return torch.stack(found, dim=1)


@pf.prior(num_features=1, inputs=IndexInputs(2), theta=Uniform(-1.0, 1.0).expand([2]))
def two_moons(x: Points, theta: Tensor) -> Tensor:
    """A point of a half circle, moved by a fold of the parameters; both coordinates share its angle and radius."""
    angle = math.pi * (torch.rand(len(x)) - 0.5)
    radius = MOONS_RADIUS + MOONS_SPREAD * torch.randn(len(x))
    total, difference = (theta[:, 0] + theta[:, 1]) / 2**0.5, (theta[:, 1] - theta[:, 0]) / 2**0.5
    place = [radius * angle.cos() + MOONS_SHIFT - total.abs(), radius * angle.sin() + difference]
    return component(torch.stack(place, dim=1), x)


def moons_likelihood(x: Points, y: Values, theta: Tensor) -> Float[Tensor, " batch"]:
    """The density of both coordinates: that of the radius at any angle of the half circle."""
    first, second = in_order(x, y).double().unbind(1)
    total, difference = (theta[:, 0] + theta[:, 1]) / 2**0.5, (theta[:, 1] - theta[:, 0]) / 2**0.5
    across, along = first - MOONS_SHIFT + total.abs(), second - difference
    radius = torch.hypot(across, along)
    density = Normal(MOONS_RADIUS, MOONS_SPREAD).log_prob(radius) - (math.pi * radius).log()
    return torch.where(across > 0, density, -torch.inf)


@pf.prior(num_features=1, inputs=IndexInputs(10), theta=Normal(0.0, GAUSSIAN_VARIANCE**0.5).expand([10]))
def gaussian_linear(x: Points, theta: Tensor) -> Distribution:
    """Each component is its own parameter with noise."""
    return Normal(component(theta, x), GAUSSIAN_VARIANCE**0.5)


def epidemic(contact: Float[Tensor, "batch 1"], recovery: Float[Tensor, "batch 1"]) -> Float[Tensor, "batch times"]:
    """The infected share at ten times, by the classical Runge-Kutta method with four steps a day."""

    def slope(state: Tensor) -> Tensor:
        new = contact * state[:, :1] * state[:, 1:]
        return torch.cat([-new, new - recovery * state[:, 1:]], dim=1)

    start = torch.tensor([1 - 1 / POPULATION, 1 / POPULATION], dtype=torch.float64)
    states = solved(slope, start.expand(len(contact), 2), times=10, steps=4 * EVERY_DAYS, length=EVERY_DAYS)
    return states[:, :, 1].clamp(0.0, 1.0)


@pf.prior(
    num_features=1,
    inputs=IndexInputs(10),
    contact=LogNormal(math.log(0.4), 0.5),
    recovery=LogNormal(math.log(0.125), 0.2),
)
def sir(x: Points, contact: Tensor, recovery: Tensor) -> Distribution:
    """Infected among a thousand people at ten times, as the root of the count plus a uniform number below 1."""
    infected = epidemic(contact.double(), recovery.double())
    return RootCounts(SAMPLED, component(infected, x))


def populations(birth: Tensor, eaten: Tensor, death: Tensor, fed: Tensor) -> Float[Tensor, "batch 20"]:
    """Logarithms of both populations, solved as logarithms, within the benchmark's bounds."""
    gain, loss = torch.cat([birth, -death], dim=1), torch.cat([-eaten, fed], dim=1)

    def slope(state: Tensor) -> Tensor:
        return gain + loss * state.flip(1).exp()

    start = torch.tensor([30.0, 1.0], dtype=torch.float64).log()
    states = solved(slope, start.expand(len(birth), 2), times=10, steps=LV_STEPS, length=EVERY_TIME)
    return states.mT.flatten(1).nan_to_num(nan=math.log(1e-10)).clamp(math.log(1e-10), math.log(1e4))


@pf.prior(
    num_features=1,
    inputs=IndexInputs(20),
    birth=LogNormal(-0.125, 0.5),
    eaten=LogNormal(-3.0, 0.5),
    death=LogNormal(-0.125, 0.5),
    fed=LogNormal(-3.0, 0.5),
)
def lotka_volterra(x: Points, birth: Tensor, eaten: Tensor, death: Tensor, fed: Tensor) -> Distribution:
    """Logarithms of the prey at ten times, then of the predators at the same times, with noise."""
    rates = (each.double() for each in (birth, eaten, death, fed))
    return Normal(component(populations(*rates), x).float(), NOISE)


@pf.prior(
    num_features=1,
    inputs=IndexInputs(8),
    mean=Uniform(-3.0, 3.0).expand([2]),
    root=Uniform(-3.0, 3.0).expand([2]),
    bond=Uniform(-3.0, 3.0),
)
def slcp(x: Points, mean: Tensor, root: Tensor, bond: Tensor) -> Tensor:
    """Four points of a Gaussian in the plane; correlated coordinates are no law of single ones, so they are drawn."""
    scale, correlation = root.square(), bond.tanh()
    noise = torch.randn(len(x), 4, 2)
    second = correlation * noise[..., 0] + (1 - correlation.square()).sqrt() * noise[..., 1]
    correlated = torch.stack([noise[..., 0], second], dim=-1)
    places = mean[:, None] + scale[:, None] * correlated + SLCP_VARIANCE**0.5 * torch.randn(len(x), 4, 2)
    return component(places.flatten(1), x)


def slcp_likelihood(x: Points, y: Values, mean: Tensor, root: Tensor, bond: Tensor) -> Float[Tensor, " batch"]:
    """The density of four correlated pairs."""
    first, second = (in_order(x, y).double().unflatten(1, (4, 2)) - mean[:, None]).unbind(2)
    scale, correlation = root.double().square(), bond.double().tanh()
    one, other = (scale.square() + SLCP_VARIANCE).split(1, dim=1)
    both = correlation * scale.prod(1, keepdim=True)
    determinant = one * other - both.square()
    square = (other * first.square() + one * second.square() - 2 * both * first * second) / determinant
    return (-0.5 * (square + determinant.log()) - math.log(2 * math.pi)).sum(1)


LIKELIHOODS = {"two_moons": moons_likelihood, "slcp": slcp_likelihood}
"""Joint likelihoods of simulators that return draws."""


def bernoulli_glm(design: Float[Tensor, "bins parameters"]) -> tuple[ProgramPrior, Float[Tensor, "parameters latents"]]:
    """Spikes in a hundred bins, each a point of its own, given an offset and nine smooth weights of a stimulus.

    The benchmark shows ten sufficient statistics of the spikes, which have no law of their own; the posterior is the
    same. The correlated parameters are a matrix, which is given too, times independent latents.
    """
    mixing = torch.linalg.inv(torch.linalg.cholesky(smooth_precision(design.shape[1]))).mT.float()

    @pf.prior(num_features=1, inputs=IndexInputs(len(design)), white=Normal(0.0, 1.0).expand([design.shape[1]]))
    def spikes(x: Points, white: Tensor) -> Distribution:
        return Bernoulli(logits=component(white @ mixing.T @ design.T, x))

    assert isinstance(spikes, ProgramPrior)
    return spikes, mixing


def smooth_precision(size: int) -> Float[Tensor, "size size"]:
    """The inverse covariance of offset and weights: second differences of weights are small, late weights are too."""
    filters = size - 1
    first = torch.eye(filters, dtype=torch.float64) - torch.diag(torch.ones(filters - 1, dtype=torch.float64), -1)
    root = first @ first + torch.diag(torch.arange(filters, dtype=torch.float64) / filters).sqrt()
    precision = torch.zeros(size, size, dtype=torch.float64)
    precision[0, 0] = 0.5
    precision[1:, 1:] = root.T @ root
    return precision
