"""From scores to classes, and which tables can be learned."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from priorfit.priors.tables.randomness import Rows, happens, standard, uniform

REFERENCE_ROWS = 64
"""Rows that every table has beside those it shows: cuts between classes lie at their quantiles."""


def labelled(
    scores: Float[Tensor, "tables rows outputs"], count: int, wrong_share: float, island_share: float
) -> Float[Tensor, "tables rows"]:
    """Classes by cuts of one score, or by the largest of as many scores; some tables with wrong labels.

    A class of islands is two or three intervals of the score in place of one.
    """
    tables, rows, outputs = scores.shape
    islands = int(torch.randint(2, 4, ())) if outputs == 1 and island_share and happens(island_share) else 1
    labels = by_cuts(scores[..., 0], islands * count) % count if outputs == 1 else by_largest(scores)
    if happens(wrong_share):
        wrong = torch.rand(tables, rows) < 0.2 * torch.rand(tables, 1)
        labels = torch.where(wrong, torch.randint(count, (tables, rows)), labels)
    names = torch.rand(tables, count).argsort(-1)
    return torch.gather(names, 1, labels).to(scores.dtype)


def long_tailed(y: Float[Tensor, "tables rows"]) -> Float[Tensor, "tables rows"]:
    """Targets with a long tail on one side, or on both."""
    stretched = y * uniform(0.3, 1.2)
    return torch.exp(stretched) if happens(0.7) else torch.sinh(stretched)


def by_cuts(scores: Float[Tensor, "tables rows"], count: int) -> Int[Tensor, "tables rows"]:
    """Intervals of a score, between quantiles of rows that are not shown."""
    tables = len(scores)
    shares = torch.full((tables, count), 1.0 / count)
    if happens(0.45):  # unequal classes, now and then by far
        shares = torch.exp(1.3 * torch.randn(tables, count))
    edges = (shares / shares.sum(1, keepdim=True)).cumsum(1)[:, :-1]
    ordered = scores[:, :REFERENCE_ROWS].sort(1).values
    places = (edges * REFERENCE_ROWS).long().clamp(max=REFERENCE_ROWS - 1)
    return torch.searchsorted(torch.gather(ordered, 1, places).contiguous(), scores.contiguous())


def by_largest(scores: Float[Tensor, "tables rows outputs"]) -> Int[Tensor, "tables rows"]:
    """The output that is largest, some outputs being favoured."""
    favour = 0.7 * torch.rand(len(scores), 1, 1) * torch.randn(len(scores), 1, scores.shape[2])
    return (scores + favour).argmax(-1)


def learnable(
    x: Rows, y: Num[Tensor, "tables rows"], is_class: bool, count: int, lengthscales: Sequence[float]
) -> Int[Tensor, " kept"]:
    """The tables, ``count`` of them in random order, whose targets a smooth function of the columns tells most of.

    A kernel regression of the rows that are not shown leaves each of them out; its correlation with the target, for
    classes the coding of one against the others, is the measure: the largest over lengthscales of the kernel.
    """
    rows = 3 * torch.tanh(standard(x[:, :REFERENCE_ROWS]) / 3)
    known = y[:, :REFERENCE_ROWS]
    target = standard((known == known[:, :1] if is_class else known).to(x.dtype)[..., None])[..., 0]
    squares = torch.cdist(rows, rows).square() / rows.shape[2]
    linear = rows @ rows.mT / rows.shape[2]
    told = [left_out_correlation(torch.exp(-squares / scale**2) + linear, target) for scale in lengthscales]
    best = torch.stack(told).amax(0).topk(count).indices
    return best[torch.randperm(count)]


def left_out_correlation(
    kernel: Float[Tensor, "tables rows rows"], target: Float[Tensor, "tables rows"]
) -> Float[Tensor, " tables"]:
    """How well a kernel regression of all other rows predicts the target of a row, which has mean 0 and variance 1."""
    inverse = torch.linalg.inv(kernel + 0.3 * torch.eye(kernel.shape[1]))
    guess = target - (inverse @ target[..., None])[..., 0] / inverse.diagonal(dim1=1, dim2=2)
    return (guess * target).mean(1) / (guess.square().mean(1).sqrt() + 1e-6)
