"""First guesses for a row: Gaussian process regressions of the targets under several kernels, solved in closed form."""

import functools
import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.network.tables.cells import MOST_PAIRS, CellFeatures

Similarities = Float[Tensor, "kernels coded rows context"]

ADDITIVE_WIDTHS = (0.25, 0.7)
"""Widths of the additive kernels, in units of ranks."""

ALIKE = (
    (1.0, 0.5),  # linear, in values
    (0.5, 0.3),  # radial, in values
    (1.5, 0.3),
    (0.4, 0.3),  # Laplace, in ranks: what averages of random trees amount to
    (1.2, 0.3),
    (1.0, 0.4),  # additive, in ranks
    (1.0, 0.4),
)
"""Lengthscale and noise variance that the kernels begin with in which all columns count alike.

Radial and Laplace kernels have a lengthscale, the others ignore it.
"""

WEIGHTED = ((1.0, 0.5), (1.0, 0.3), (0.8, 0.3), (1.0, 0.4))
"""The same for kernels weighted by the relevance of columns: linear, radial, Laplace, additive (the narrow one)."""

NUM_KERNELS = len(ALIKE) + len(WEIGHTED)
GUESS_NUMBERS = 3 * NUM_KERNELS + 1
"""Mean, standard deviation and weight by evidence under each kernel; and the mean of all by that weight."""

JITTER = 1e-4
"""Added to noise variances before factorising: kernels of equal rows stay positive definite in float32."""


@dataclass(frozen=True)
class Distances:
    """Weighted means over columns: product and squared distance of values, distance and kernels of ranks."""

    products: Float[Tensor, "coded rows context"]
    squares: Float[Tensor, "coded rows context"]
    apart: Float[Tensor, "coded rows context"]
    near: Float[Tensor, "coded rows context"]
    wide: Float[Tensor, "coded rows context"]


@dataclass(frozen=True)
class SolvedGuesses:
    """The solved regressions of a context."""

    factors: Float[Tensor, "kernels coded context context"]
    weights: Float[Tensor, "kernels coded context"]
    log_weights: Float[Tensor, "kernels coded"]
    targets: Float[Tensor, "coded context"]
    context: CellFeatures
    relevances: Float[Tensor, "coded columns"]


class KernelGuesses(nn.Module):
    """Gaussian process regressions of standardised targets; lengthscales and noises are learned, one of each a kernel.

    Every kernel is an average or a product over columns, so that their number and order do not matter.
    """

    def __init__(self) -> None:
        super().__init__()
        starts = torch.tensor([*ALIKE, *WEIGHTED]).log()
        self.log_lengthscales = nn.Parameter(starts[:, 0].clone())
        self.log_noises = nn.Parameter(starts[:, 1].clone())

    def similarities(
        self, rows: CellFeatures, context: CellFeatures, relevances: Float[Tensor, "coded columns"]
    ) -> Similarities:
        """The kernels between rows and the context."""
        alike, told = distances(rows, context, relevances)
        scales = self.log_lengthscales.to(alike.products.dtype).exp()
        return torch.stack(
            [
                alike.products,
                *(torch.exp(alike.squares * (-0.5 / scales[i] ** 2)) for i in (1, 2)),
                *(torch.exp(-alike.apart / scales[i]) for i in (3, 4)),
                alike.near,
                alike.wide,
                told.products,
                torch.exp(told.squares * (-0.5 / scales[8] ** 2)),
                torch.exp(-told.apart / scales[9]),
                told.near,
            ]
        )

    def condition(
        self,
        context: CellFeatures,
        targets: Float[Tensor, "coded context"],
        relevances: Float[Tensor, "coded columns"],
    ) -> SolvedGuesses:
        """Solve all regressions of a context."""
        kernels = self.similarities(context, context, relevances)
        count = targets.shape[1]
        noises = self.log_noises.to(kernels.dtype).exp() + JITTER
        matrices = kernels + noises[:, None, None, None] * torch.eye(count, device=targets.device, dtype=targets.dtype)
        factors = torch.linalg.cholesky(matrices)
        wanted = targets.expand(len(factors), -1, -1)[..., None]
        weights = torch.cholesky_solve(wanted, factors)[..., 0]
        halves = factors.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        evidence = -0.5 * (weights * targets).sum(-1) - halves - 0.5 * count * math.log(2 * math.pi)
        return SolvedGuesses(factors, weights, torch.log_softmax(evidence, dim=0), targets, context, relevances)

    def leave_one_out(self, solved: SolvedGuesses) -> Float[Tensor, "coded context numbers"]:
        """Features of each row of the context, from the leave-one-out predictions of the regressions."""
        inverse = torch.cholesky_inverse(solved.factors)
        precision = inverse.diagonal(dim1=-2, dim2=-1)
        return told(solved.targets - solved.weights / precision, (1 / precision).sqrt(), solved.log_weights)

    def predict(self, rows: CellFeatures, solved: SolvedGuesses) -> Float[Tensor, "coded rows numbers"]:
        """Features of queries, from the predictions of the regressions."""
        kernels = self.similarities(rows, solved.context, solved.relevances)
        means = (kernels @ solved.weights[..., None])[..., 0]
        explained = torch.linalg.solve_triangular(solved.factors, kernels.mT, upper=False).square().sum(-2)
        own = torch.ones_like(explained)
        own[0], own[len(ALIKE)] = weighted_sums(weighted(solved.relevances), rows.values.square())
        noises = self.log_noises.to(means.dtype).exp()[:, None, None]
        variances = (own - explained).clamp(min=0.0) + noises
        return told(means, variances.sqrt(), solved.log_weights)


def told(
    means: Float[Tensor, "kernels coded rows"],
    deviations: Float[Tensor, "kernels coded rows"],
    log_weights: Float[Tensor, "kernels coded"],
) -> Float[Tensor, "coded rows numbers"]:
    """Predictions of the regressions as features for the tokens of rows."""
    weights = log_weights.exp()[..., None].expand_as(means)
    average = (weights * means).sum(0, keepdim=True)
    return torch.cat([means, deviations, weights, average]).permute(1, 2, 0)


def weighted(relevances: Float[Tensor, "coded columns"]) -> Float[Tensor, "2 coded columns"]:
    """The weights of columns, all alike and by their relevance; their mean is 1 over the number of columns."""
    return torch.stack([torch.ones_like(relevances), relevances]) / max(relevances.shape[1], 1)


def weighted_sums(
    weights: Float[Tensor, "2 coded columns"], parts: Float[Tensor, "tables columns *rest"]
) -> Float[Tensor, "2 coded *rest"]:
    """Sums over columns of what all codings of a table have in common, by both weights of each coding."""
    (tables, columns, *rest), coded = parts.shape, weights.shape[1]
    codings = coded // max(tables, 1)
    by_table = weights.reshape(2, tables, codings, columns).transpose(0, 1).reshape(tables, 2 * codings, columns)
    sums = by_table @ parts.flatten(2)  # (tables, 2 * codings, pairs)
    return sums.reshape(tables, 2, codings, sums.shape[-1]).transpose(0, 1).reshape(2, coded, *rest)


def distances(
    rows: CellFeatures, context: CellFeatures, relevances: Float[Tensor, "coded columns"]
) -> tuple[Distances, Distances]:
    """Distances in which all columns count alike, and in which they count by their relevance."""
    weights = weighted(relevances)
    codings = len(relevances) // max(len(rows.values), 1)
    here, there = (part.values.repeat_interleave(codings, 0) for part in (rows, context))
    products = (here * weights[..., None]).mT @ there  # (2, coded, rows, context)
    own, others = (weighted_sums(weights, part.values.square()) for part in (rows, context))
    squares = (own[..., None] + others[:, :, None] - 2 * products).clamp(min=0.0)
    alike, told = zip(products, squares, *rank_distances(rows, context, weights), strict=True)
    return Distances(*alike), Distances(*told)


def rank_distances(
    rows: CellFeatures, context: CellFeatures, weights: Float[Tensor, "2 coded columns"]
) -> list[Float[Tensor, "2 coded rows context"]]:
    """Weighted sums over columns of the distance of ranks and of two kernels of it, a few columns at a time."""
    size = max(1, MOST_PAIRS // max(1, len(rows.ranks) * rows.ranks.shape[2] * context.ranks.shape[2]))
    split = rows.ranks.split(size, 1), context.ranks.split(size, 1), weights.split(size, 2)
    sums = []
    for here, there, weight in zip(*split, strict=True):
        apart = (here[..., None] - there[:, :, None]).abs()  # (tables, some columns, rows, context)
        kernels = (torch.exp(apart.square() * (-0.5 / width**2)) for width in ADDITIVE_WIDTHS)
        sums.append([weighted_sums(weight, part) for part in (apart, *kernels)])
    return [functools.reduce(torch.add, parts) for parts in zip(*sums, strict=True)]
