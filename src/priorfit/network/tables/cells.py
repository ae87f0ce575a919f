"""Features of a cell: where its value lies in its column of the context, and what the labels are near it."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

SOFT_CLIP = 3.0
"""Standard deviations at which a value saturates; its rank still tells it from others."""

RANK_SCALE = 3.0**0.5
"""Makes the mid-ranks of a continuous column, uniform on [-1, 1], have a standard deviation of 1."""

BANDWIDTHS = (0.08, 0.25, 0.7)
"""Widths of the kernels that labels are smoothed with, in units of `RANK_SCALE` ranks."""

NUM_SMOOTHERS = len(BANDWIDTHS) + 1
"""Labels are smoothed over near ranks with each bandwidth, and over equal values."""

CELL_NUMBERS = 4 + 3 * NUM_SMOOTHERS
"""Number of features of a cell."""

LEAST_RELEVANCE = 0.02
"""Relevance of a column that explains nothing of the target, beside 1 for one that explains all of it."""

LEAST_DEVIATION = 0.05
"""Added to the standard deviation of predictions, so that tiny ones do not look like good ones."""

MOST_PAIRS = 2**20
"""Pairs of a cell and a row of the context that are compared at once: a few columns at a time, to bound the memory."""


@dataclass(frozen=True)
class CellFeatures:
    """The cells of some rows: ``values`` and ``ranks``, and all ``numbers`` that the tokens are made from.

    Each table has as many codings as classes, next to each other; values and ranks do not depend on them.
    """

    values: Float[Tensor, "tables columns rows"]
    ranks: Float[Tensor, "tables columns rows"]
    numbers: Float[Tensor, "coded columns rows numbers"]


@dataclass(frozen=True)
class Cells:
    """The cells of some rows of a table: softly clipped values, 0 where one is missing, and where that is."""

    values: Float[Tensor, "tables columns rows"]
    missing: Bool[Tensor, "tables columns rows"]
    ranks: Float[Tensor, "tables columns rows"]
    ties: Float[Tensor, "tables columns rows"]

    def split(self, size: int) -> "Iterator[Cells]":
        """The same cells, ``size`` columns at a time."""
        parts = (part.split(size, dim=1) for part in (self.values, self.missing, self.ranks, self.ties))
        return (Cells(*each) for each in zip(*parts, strict=True))


@dataclass(frozen=True)
class Smoothed:
    """Means of the labels around each cell by each smoother, and how many rows they rest on."""

    means: Float[Tensor, "coded columns rows smoothers"]
    counts: Float[Tensor, "tables columns rows smoothers"]


@dataclass(frozen=True)
class ColumnStatistics:
    """The columns of a context and its targets: what the features of any cell are computed from.

    ``correlations`` holds how well each smoother, leaving a row out, predicts the target of that row.
    """

    cells: Cells
    targets: Float[Tensor, "coded rows"]
    correlations: Float[Tensor, "coded columns smoothers"]
    features: CellFeatures

    @classmethod
    def of(cls, x: Float[Tensor, "tables rows columns"], targets: Float[Tensor, "coded rows"]) -> "ColumnStatistics":
        """Statistics of a context, whose columns are standardised but for values that are missing (NaN).

        There is one row of targets for each table, or one for each coding of its classes.
        """
        values, missing = split_missing(x)
        cells = ranked(values, missing, values, missing)
        others = 1 - torch.eye(targets.shape[1], device=values.device, dtype=values.dtype)
        smoothed = smoothed_labels(cells, cells, others, targets)
        told = correlations(smoothed.means, targets)
        return cls(cells, targets, told, CellFeatures(values, cells.ranks, numbers(cells, smoothed, told)))

    def features_of(self, x: Float[Tensor, "tables rows columns"]) -> CellFeatures:
        """The features of the cells of queries."""
        values, missing = split_missing(x)
        cells = ranked(values, missing, self.cells.values, self.cells.missing)
        smoothed = smoothed_labels(cells, self.cells, values.new_ones(1, 1), self.targets)
        return CellFeatures(values, cells.ranks, numbers(cells, smoothed, self.correlations))

    def relevances(self) -> Float[Tensor, "coded columns"]:
        """Relevance of each column: how much of the target it explains by itself, with mean 1."""
        relevance = self.correlations.amax(-1).clamp(min=0.0).square() + LEAST_RELEVANCE
        return relevance / relevance.mean(1, keepdim=True)


def split_missing(
    x: Float[Tensor, "tables rows columns"],
) -> tuple[Float[Tensor, "tables columns rows"], Bool[Tensor, "tables columns rows"]]:
    """Softly clipped values with 0 where one is missing, and where that is; columns before rows."""
    turned = x.transpose(1, 2).contiguous()
    missing = turned.isnan()
    return SOFT_CLIP * torch.tanh(turned.masked_fill(missing, 0.0) / SOFT_CLIP), missing


def ranked(
    values: Float[Tensor, "tables columns rows"],
    missing: Bool[Tensor, "tables columns rows"],
    context: Float[Tensor, "tables columns context"],
    context_missing: Bool[Tensor, "tables columns context"],
) -> Cells:
    """Cells with their mid-ranks among the known values of the context and with their share of ties, times two.

    A mid-rank is the share of values below a cell's, ties counted half, scaled to mean 0 and standard deviation 1; it
    is 0 where the cell is missing or no value is known. Missing cells are tied with missing ones.
    """
    known = (~context_missing).sum(2, keepdim=True)
    ordered = context.detach().masked_fill(context_missing, torch.inf).sort(2).values
    places = values.detach().contiguous()
    less, upto = (torch.searchsorted(ordered, places, right=right) for right in (False, True))
    same = torch.where(missing, context.shape[2] - known, upto - less).to(values.dtype)
    ranks = RANK_SCALE * (2 * (less.to(values.dtype) + 0.5 * same) / known.clamp(min=1) - 1)
    return Cells(values, missing, ranks * (~missing & (known > 0)), same * (2 / max(context.shape[2], 1)))


def smoothed_labels(
    cells: Cells, context: Cells, others: Float[Tensor, "#rows #context"], targets: Float[Tensor, "coded context"]
) -> Smoothed:
    """Means of the labels around each cell, drawn to 0 as by one more row; ``others`` leaves rows out."""
    tables, columns, rows = cells.values.shape
    by_table = targets.reshape(tables, len(targets) // max(tables, 1), targets.shape[1])  # (tables, codings, context)
    size = max(1, MOST_PAIRS // max(1, tables * rows * targets.shape[1]))
    parts = [
        smooth(smoothers(some, known), others, by_table)
        for some, known in zip(cells.split(size), context.split(size), strict=True)
    ]
    means, counts = (torch.cat(part, dim=-3) for part in zip(*parts, strict=True))
    return Smoothed(means.reshape(len(targets), columns, rows, NUM_SMOOTHERS), counts)


def smoothers(cells: Cells, context: Cells) -> Iterator[Float[Tensor, "tables columns rows context"]]:
    """The weight of each row of the context for each cell: by ranks for each bandwidth, then by equal values."""
    here, there = cells.missing[..., None], context.missing[:, :, None]
    apart = (cells.ranks[..., None] - context.ranks[:, :, None]).square()
    either = here | there
    for width in BANDWIDTHS:
        yield torch.exp(apart * (-0.5 / width**2)).masked_fill(either, 0.0)
    same = (cells.values.detach()[..., None] == context.values[:, :, None]) & (here == there)
    yield same.to(apart.dtype)


def smooth(
    weights: Iterator[Float[Tensor, "tables columns rows context"]],
    others: Float[Tensor, "#rows #context"],
    targets: Float[Tensor, "tables codings context"],
) -> tuple[Float[Tensor, "tables codings columns rows smoothers"], Float[Tensor, "tables columns rows smoothers"]]:
    """Means of the labels by some weights, and the sums of these."""
    means, counts = [], []
    for weight in weights:
        kept = weight * others
        count = kept.sum(3)
        sums = torch.einsum("bcij,bkj->bkci", kept, targets)
        means.append(sums / (count[:, None] + 1))
        counts.append(count)
    return torch.stack(means, dim=-1), torch.stack(counts, dim=-1)


def correlations(
    means: Float[Tensor, "coded columns rows smoothers"], targets: Float[Tensor, "coded rows"]
) -> Float[Tensor, "coded columns smoothers"]:
    """Correlate predictions that leave a row out with its target, whose deviation is 1, or less for a rare class."""
    if not targets.shape[1]:
        return means.new_zeros(means.shape[0], means.shape[1], means.shape[3])
    products = (means * targets[:, None, :, None]).mean(2)
    return products / (means.square().mean(2).sqrt() + LEAST_DEVIATION)


def numbers(
    cells: Cells, smoothed: Smoothed, told: Float[Tensor, "coded columns smoothers"]
) -> Float[Tensor, "coded columns rows numbers"]:
    """All features of a cell: value, rank, ties, whether it is missing; the labels near it; and those of its column."""
    codings = len(told) // max(len(cells.values), 1)
    own = torch.stack([cells.values, cells.ranks, cells.ties, cells.missing.to(cells.values.dtype)], dim=-1)
    counts = torch.log1p(smoothed.counts) / 3
    column = told[:, :, None].expand(-1, -1, cells.values.shape[2], -1)
    own, counts = (part.repeat_interleave(codings, 0) for part in (own, counts))
    return torch.cat([own, smoothed.means, counts, column], dim=-1)
