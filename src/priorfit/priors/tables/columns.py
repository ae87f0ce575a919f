"""The columns of a table: correlated, clustered, skewed, discrete, nominal, useless, and with gaps."""

import math

import torch

from priorfit.priors.tables.randomness import Rows, activated, happens, log_uniform, standard, uniform, whole

MOST_LEVELS = 12
"""Most levels of a nominal column."""


def drawn_columns(shape: tuple[int, int, int]) -> Rows:
    """Columns before anything is computed from them: independent, of common factors, of clusters, or a network's."""
    tables, rows, columns = shape
    kind, own = float(torch.rand(())), torch.randn(shape)
    if kind < 0.3:
        factors = whole(1, columns)
        mixing = torch.randn(tables, factors, columns) / math.sqrt(factors)
        own = torch.randn(tables, rows, factors) @ mixing + log_uniform(0.05, 1.5) * own
    elif kind < 0.45:
        count = int(torch.randint(2, 8, ()))
        centres = torch.randn(tables, count, columns) * log_uniform(0.5, 3.0)
        member = torch.randint(count, (tables, rows, 1)).expand(-1, -1, columns)
        own = torch.gather(centres, 1, member) + own
    elif kind < 0.55:
        own = torch.rand(shape)
    elif kind < 0.75:
        causes, width = whole(1, 14), max(8, columns)
        hidden = activated(torch.randn(tables, rows, causes) @ torch.randn(tables, causes, width))
        own = standard(hidden) @ torch.randn(tables, width, columns) / math.sqrt(width) + 0.1 * own
    return skewed(standard(own))


def drawn_levels(shape: tuple[int, int, int]) -> Rows:
    """Columns of which some have few values already when a target is computed from them."""
    return standard(with_levels(drawn_columns(shape)))


def skewed(x: Rows) -> Rows:
    """Some columns with a long tail on one side or on both, some uniform."""
    kind = torch.rand(x.shape[0], 1, x.shape[2])
    long = standard(torch.exp(0.8 * x.clamp(-4.0, 4.0)))
    heavy = standard(x.clamp(-5.0, 5.0) ** 3)
    return torch.where(kind < 0.15, long, torch.where(kind < 0.22, heavy, x))


def with_levels(x: Rows) -> Rows:
    """Some columns with few values: ordered codes, or those of a nominal column, whose order means nothing."""
    tables, _, columns = x.shape
    share = torch.rand(tables, 1) if happens(0.8) else torch.ones(tables, 1)
    discrete = torch.rand(tables, columns) < share
    levels = 2 + torch.empty(tables, 1, columns).geometric_(0.35).clamp(max=MOST_LEVELS - 2) - 1
    wide = torch.rand(tables, 1, columns) < 0.1
    levels = torch.where(wide, 10 + torch.randint(40, (tables, 1, columns)), levels)
    tilt = torch.exp(0.5 * torch.randn(tables, 1, columns))
    codes = (torch.special.ndtr(standard(x)) ** tilt * levels).floor()
    codes = torch.minimum(codes, levels - 1)
    shuffled = torch.gather(torch.rand(tables, 50, columns).argsort(1), 1, codes.long()).to(x.dtype)
    nominal = (torch.rand(tables, 1, columns) < 0.5) & ~wide
    return torch.where(discrete[:, None], torch.where(nominal, shuffled, codes), x)


def with_useless(x: Rows) -> Rows:
    """Some columns are shuffled over rows, so that they tell nothing."""
    share = uniform(0.0, 0.7)
    useless = torch.rand(x.shape[0], 1, x.shape[2]) < share
    order = torch.rand_like(x).argsort(1)
    return torch.where(useless, torch.gather(x, 1, order), x)


def with_gaps(x: Rows) -> Rows:
    """Some values of some columns are missing, at random or where they are large."""
    gappy = torch.rand(x.shape[0], 1, x.shape[2]) < uniform(0.0, 1.0)
    chance = torch.rand(x.shape[0], 1, x.shape[2]).square() * 0.6
    depends = (torch.rand(x.shape[0], 1, x.shape[2]) < 0.3) * 1.5
    score = torch.sigmoid(torch.logit(chance.clamp(0.001, 0.999)) + depends * standard(x))
    return x.masked_fill(gappy & (torch.rand_like(x) < score), math.nan)
