"""The floating-point operations that a training step of priorfit really does in matrix products.

With w the width, f the feed-forward width, L the layers, n the context, m the queries, t = n + m, d the features, p the
head's parameters, and two operations for a multiplication with its addition, a forward pass of one dataset takes

    a layer      2 w^2 (2 t + 2 n)     queries and outputs of all tokens, keys and values of the context alone
               + 4 w t (n + 1)         scores and weighted values; the + 1 is the sink
               + 4 w f t               feed-forward
    the last layer: the same with m in place of t, for nobody reads the context after it
    encoders     2 w (d t + n)         of x and of y
    decoder      2 w p m

A backward pass takes twice that, except for the encoders, whose inputs need no gradient: once. What the backward pass
of attention computes a second time (the scores) is not counted, nor is anything element-wise: a lower bound.
Muon's Newton-Schulz steps are counted apart: five times 4 r^2 c + 2 r^3 for a matrix of r rows and c >= r columns.
"""

from collections.abc import Iterable
from dataclasses import dataclass

NEWTON_SCHULZ_STEPS = 5


@dataclass(frozen=True)
class Sizes:
    """The sizes of a network and of the datasets that it sees."""

    num_points: int
    batch_size: int
    width: int = 256
    layers: int = 6
    heads: int = 4
    feedforward: int = 512
    buckets: int = 1000
    features: int = 5

    @property
    def num_context(self) -> int:
        """Half of the points: the mean n of training."""
        return self.num_points // 2


def training_flops(sizes: Sizes, num_parameters: int) -> int:
    """Operations of forward and backward pass of one batch."""
    context, queries = sizes.num_context, sizes.num_points - sizes.num_context
    layers = (sizes.layers - 1) * layer_flops(sizes, sizes.num_points) + layer_flops(sizes, queries)
    encoders = 2 * sizes.width * (sizes.features * sizes.num_points + context)
    decoder = 2 * sizes.width * num_parameters * queries
    return sizes.batch_size * (3 * (layers + decoder) + 2 * encoders)


def layer_flops(sizes: Sizes, tokens: int) -> int:
    """A forward pass of one layer in which ``tokens`` look at the context."""
    width, context = sizes.width, sizes.num_context
    projections = 2 * width**2 * (2 * tokens + 2 * context)
    attention = 4 * width * tokens * (context + 1)
    return projections + attention + 4 * width * sizes.feedforward * tokens


def newton_schulz_flops(shapes: Iterable[tuple[int, ...]]) -> int:
    """Operations of Muon's orthogonalisation of matrices."""
    edges = [sorted(shape) for shape in shapes]
    return sum(NEWTON_SCHULZ_STEPS * (4 * rows**2 * columns + 2 * rows**3) for rows, columns in edges)
