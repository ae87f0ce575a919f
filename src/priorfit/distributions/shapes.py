"""The shape to which several shapes broadcast."""

from collections.abc import Sequence
from itertools import zip_longest

import torch

from priorfit.errors import ShapeError


def broadcast_shapes(*shapes: Sequence[int]) -> torch.Size:
    """The common shape, as `torch.broadcast_shapes` finds it.

    The first call of torch's own function imports sympy, for shapes that are symbols: half a second before the first
    answer of every process.

    >>> broadcast_shapes((3, 1), (2,), ())
    torch.Size([3, 2])
    """
    several = {tuple(shape) for shape in shapes if len(shape)}
    if len(several) == 1:  # the rest takes longer than small tensors do
        return torch.Size(several.pop())
    sizes = []
    for aligned in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        distinct = {size for size in aligned if size != 1}
        if len(distinct) > 1:
            raise ShapeError(f"the shapes {', '.join(str(tuple(shape)) for shape in shapes)} do not broadcast.")
        sizes.append(distinct.pop() if distinct else 1)
    return torch.Size(reversed(sizes))
