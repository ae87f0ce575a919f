"""Finding the bucket of a point, for any batch of borders, without a copy of the borders for each point."""

from typing import Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from priorfit.distributions.shapes import broadcast_shapes


def points_last(
    value: Float[Tensor, "..."], batch_shape: torch.Size
) -> tuple[Float[Tensor, "*batch points"], torch.Size]:
    """Broadcast values with a batch shape and put what they have beyond it last; give the broadcast shape too."""
    shape = broadcast_shapes(value.shape, batch_shape)
    points = shape[: len(shape) - len(batch_shape)].numel()
    return value.expand(shape).reshape(points, *batch_shape).movedim(0, -1), shape


def points_first(result: Float[Tensor, "*batch points"], shape: torch.Size) -> Float[Tensor, "..."]:
    """Undo ``points_last``."""
    return result.movedim(-1, 0).reshape(shape)


def bucket_of(
    inner: Float[Tensor, "*#batch inner"], points: Float[Tensor, "*batch points"], side: Literal["left", "right"]
) -> Int64[Tensor, "*batch points"]:
    """The index of each point's bucket: how many inner borders lie before it.

    Batch axes that share their borders are searched together: one call for borders of one axis, and no copy of the
    borders for each query when they differ between datasets alone. A point on a border belongs to the bucket on
    its ``side``.
    """
    batch = points.ndim - 1
    sizes = (1,) * (batch - inner.ndim + 1) + inner.shape[:-1]
    own = [axis for axis in range(batch) if sizes[axis] != 1]
    order = [*own, *(axis for axis in range(batch) if sizes[axis] == 1), batch]
    values = points.detach().permute(order)
    index = torch.searchsorted(
        inner.detach().reshape(*(sizes[axis] for axis in own), inner.shape[-1]).contiguous(),
        values.flatten(len(own)).contiguous(),
        side=side,
    )
    inverse = sorted(range(batch + 1), key=order.__getitem__)
    return index.reshape(values.shape).permute(inverse)


def at(
    table: Float[Tensor, "*#batch entries"], index: Int64[Tensor, "*batch points"]
) -> Float[Tensor, "*batch points"]:
    """The entries of a table, shared or one for each batch element, at some indices."""
    if table.ndim == 1:
        return table[index]
    return table.expand(*index.shape[:-1], table.shape[-1]).gather(-1, index)
