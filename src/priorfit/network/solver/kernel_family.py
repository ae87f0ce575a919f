"""Matern kernels with a lengthscale for each column: covariances, the evidence, and its mode by Newton's method."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.network.solver.gaussian import Square, inverted, log_determinant

Inputs = Float[Tensor, "batch points columns"]
Squares = Float[Tensor, "batch columns points points"]
Theta = Float[Tensor, "batch numbers"]
Thetas = Float[Tensor, "batch nodes numbers"]

SCALE, NOISE, LENGTHS = 0, 1, 2
"""Places of log scale, log noise and the first log lengthscale among the numbers of a dataset."""

FLOOR = 1e-8
"""Variance that is added to the noise: with it a Cholesky factor of equal points keeps its digits."""
TINY = 1e-20
"""Added to squared distances: the derivative of their root stays finite at 0."""
LONGEST_STEP = 1.5
"""Bound of a step of each number: logarithms, so this is a factor of 4.5."""
ROOT5 = math.sqrt(5)


@dataclass(frozen=True)
class Mode:
    """The most probable numbers of each dataset, and the inverse root of their precision there."""

    theta: Theta
    root: Float[Tensor, "batch numbers numbers"]


@dataclass(frozen=True)
class Slope:
    """Log posterior of some numbers, its gradient, and the average information, which holds the prior's precision."""

    log_posterior: Float[Tensor, " batch"]
    gradient: Theta
    information: Float[Tensor, "batch numbers numbers"]


class KernelFamily(nn.Module):
    """Gaussian processes y = c + s f(x / lengths) + noise e, with a Matern kernel of smoothness 5/2.

    Log scale s, log noise and log lengthscales of a dataset have independent Normal priors, whose means and widths are
    learned; that of the lengthscales moves with the log of the number of columns in use. A column that is constant
    changes nothing.
    """

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.columns = columns
        self.means = nn.Parameter(torch.tensor([0.0, -4.0, -0.7]))
        self.log_widths = nn.Parameter(torch.tensor([0.7, 1.5, 0.9]).log())
        self.growth = nn.Parameter(torch.tensor(0.5))
        self.log_constant = nn.Parameter(torch.tensor(0.0))

    @property
    def numbers(self) -> int:
        """How many numbers a dataset has."""
        return LENGTHS + self.columns

    def prior(self, used: Float[Tensor, " batch"]) -> tuple[Theta, Float[Tensor, " numbers"]]:
        """Means and precisions of the numbers of each dataset, in float64; ``used`` counts its columns."""
        each = torch.tensor([SCALE, NOISE] + [LENGTHS] * self.columns, device=used.device)
        mean = self.means.double()[each].expand(len(used), -1)
        is_length = (each == LENGTHS).double()
        mean = mean + self.growth.double() * used.double().log()[:, None] * is_length
        return mean, (-2 * self.log_widths.double()).exp()[each]

    @property
    def constant(self) -> Float[Tensor, ""]:
        """The prior variance of the constant c."""
        return (2 * self.log_constant.double()).exp()

    def covariance(
        self,
        a: Float[Tensor, "batch rows columns"],
        b: Float[Tensor, "batch others columns"],
        theta: Thetas,
    ) -> Float[Tensor, "batch nodes rows others"]:
        """The covariance of c + s f between points, for each node."""
        inverse = (-theta[..., LENGTHS:]).exp()[..., None, :]  # (batch, nodes, 1, columns)
        one, other = a.double()[:, None] * inverse, b.double()[:, None] * inverse
        squares = one.square().sum(-1)[..., :, None] + other.square().sum(-1)[..., None, :] - 2 * one @ other.mT
        shape, _ = matern(squares)
        return self.constant + (2 * theta[..., SCALE]).exp()[..., None, None] * shape

    @torch.no_grad()
    def mode(
        self, squares: Squares, y: Float[Tensor, "batch points"], used: Float[Tensor, " batch"], rounds: int
    ) -> Mode:
        """The mode of each dataset's posterior: rounds of Newton's method with the average information.

        The method is that of Levenberg and Marquardt: a step that lowers the posterior is undone, and tried shorter.
        """
        mean, precision = self.prior(used)
        theta, damping = mean.clone(), torch.full_like(mean[:, 0], 0.1)
        slope = self.slope(theta, squares, y, mean, precision)
        for _ in range(rounds):
            tried = theta + step_of(slope, damping)
            found = self.slope(tried, squares, y, mean, precision)
            better = found.log_posterior > slope.log_posterior  # not where it is NaN
            theta = torch.where(better[:, None], tried, theta)
            slope = Slope(
                torch.where(better, found.log_posterior, slope.log_posterior),
                torch.where(better[:, None], found.gradient, slope.gradient),
                torch.where(better[:, None, None], found.information, slope.information),
            )
            damping = torch.where(better, 0.2 * damping, 8 * damping).clamp(1e-6, 1e6)
        factor = torch.linalg.cholesky_ex(slope.information).L
        return Mode(theta, inverted(factor).mT)

    def slope(
        self,
        theta: Theta,
        squares: Squares,
        y: Float[Tensor, "batch points"],
        mean: Theta,
        precision: Float[Tensor, " numbers"],
    ) -> Slope:
        """Log posterior, gradient and average information at some numbers."""
        scale, noise = ((2 * theta[:, place]).exp()[:, None, None] for place in (SCALE, NOISE))
        parts = squares * (-2 * theta[:, LENGTHS:]).exp()[..., None, None]  # (batch, columns, points, points)
        shape, fall = matern(parts.sum(1))
        covariance = self.constant + scale * shape
        covariance.diagonal(dim1=-2, dim2=-1).add_(noise[..., 0] + FLOOR)
        factor = torch.linalg.cholesky_ex(covariance).L
        whitener = inverted(factor)
        inverse = whitener.mT @ whitener
        solved = inverse @ y[..., None]  # (batch, points, 1)
        lengths = (scale * fall)[:, None] * parts  # derivatives of the covariance by log lengthscales
        times = [2 * scale * shape @ solved, 2 * noise * solved]
        moved = torch.cat([torch.stack(times, 1), lengths @ solved[:, None]], dim=1)[..., 0]  # (batch, numbers, points)
        traces = [2 * (inverse * scale * shape).sum((-2, -1)), 2 * noise[:, 0, 0] * inverse.diagonal(0, -2, -1).sum(-1)]
        trace = torch.cat([torch.stack(traces, 1), (inverse[:, None] * lengths).sum((-2, -1))], dim=1)
        off = theta - mean
        gradient = 0.5 * ((moved @ solved)[..., 0] - trace) - precision * off
        information = 0.5 * moved @ inverse @ moved.mT + torch.diag(precision)
        fit = -0.5 * (y[..., None] * solved).sum((-2, -1)) - log_determinant(factor)
        return Slope(fit - 0.5 * (precision * off.square()).sum(-1), gradient, information)


def matern(squares: Float[Tensor, "*shape"]) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """The kernel of smoothness 5/2 at squared distances, and minus its derivative by the distance over the distance."""
    distance = ROOT5 * (squares.clamp_min(0.0) + TINY).sqrt()
    fall = torch.exp(-distance)
    return (1 + distance + distance.square() / 3) * fall, 5 / 3 * (1 + distance) * fall


def step_of(slope: Slope, damping: Float[Tensor, " batch"]) -> Theta:
    """A damped Newton step, bounded in each number."""
    diagonal = slope.information.diagonal(dim1=-2, dim2=-1) * damping[:, None]
    factor = torch.linalg.cholesky_ex(slope.information + torch.diag_embed(diagonal)).L
    step = torch.cholesky_solve(slope.gradient[..., None], factor)[..., 0]
    return step.nan_to_num(0.0).clamp(-LONGEST_STEP, LONGEST_STEP)


def squared_differences(x: Inputs) -> Squares:
    """The squared differences of points, column by column, in float64."""
    columns = x.double().mT  # (batch, columns, points)
    return (columns[..., :, None] - columns[..., None, :]).square()


def columns_in_use(x: Inputs) -> Float[Tensor, " batch"]:
    """How many columns vary over the points of a context; all of them where there are fewer than two points."""
    if x.shape[1] < 2:
        return torch.full((len(x),), float(x.shape[2]), device=x.device)
    return (x.amax(1) > x.amin(1)).sum(-1).clamp_min(1).float()


def noisy(covariance: Square, theta: Thetas) -> Square:
    """A covariance with the noise on its diagonal."""
    identity = torch.eye(covariance.shape[-1], dtype=covariance.dtype, device=covariance.device)
    return covariance + ((2 * theta[..., NOISE]).exp() + FLOOR)[..., None, None] * identity
