"""Images moved by whole pixels, each by its own offset."""

import torch
from jaxtyping import Bool, Int, Num
from torch import Tensor


def margins(images: Num[Tensor, "images height width"]) -> Int[Tensor, "images 4"]:
    """How many rows or columns without ink (all 0) there are above, below, left and right; 0 without any ink.

    >>> margins(torch.tensor([[[0, 0, 0], [0, 1, 1]]]))
    tensor([[1, 0, 1, 0]])
    """
    inked = images != 0
    sides = [_first(side) for axis in (2, 1) for side in (inked.any(axis), inked.any(axis).flip(-1))]
    return torch.stack(sides, dim=-1)


def _first(inked: Bool[Tensor, "images length"]) -> Int[Tensor, " images"]:
    """The index of the first row or column with ink."""
    return inked.int().argmax(-1)


def translated(
    images: Num[Tensor, "images height width"], room: Int[Tensor, "images 4"]
) -> Num[Tensor, "images height width"]:
    """Each image moved by a random offset: up to ``room`` pixels up, down, left and right, uniform, without losing ink.

    The room is within the `margins`, so that what leaves on one side and comes back on the other is no ink.
    """
    _, height, width = images.shape
    up, down, left, right = room[..., None].unbind(1)  # (images, 1)
    rows = (torch.arange(height) - _between(-up, down)) % height  # (images, height)
    columns = (torch.arange(width) - _between(-left, right)) % width  # (images, width)
    source = rows[:, :, None] * width + columns[:, None]  # (images, height, width)
    return images.flatten(1).gather(1, source.flatten(1)).unflatten(1, (height, width))


def _between(low: Int[Tensor, "images 1"], high: Int[Tensor, "images 1"]) -> Int[Tensor, "images 1"]:
    """Whole numbers, uniform, both bounds included."""
    share = torch.rand(low.shape, dtype=torch.float64)  # at most 1 - 2^-53, so that high + 1 is never reached
    return low + (share * (high - low + 1)).floor().long()
