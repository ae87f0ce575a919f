"""Straight lines on images, many at once, pixel by pixel as `PIL.ImageDraw.line` draws them.

A line meets each row of the image in one span of columns. So a batch of lines is two numbers a row, which is much less
work than a distance for each pixel. The images are the last axis, so that each operation runs over all of them.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

FAR = 1e5
"""A number that exceeds every coordinate of an image."""


class Segments(NamedTuple):
    """Straight lines between points ``(x, y)``: columns and rows."""

    x: Float[Tensor, "... images"]
    y: Float[Tensor, "... images"]
    across: Float[Tensor, "... images"]
    down: Float[Tensor, "... images"]


class Spans(NamedTuple):
    """The first and the last column in each row; none where the last comes before the first."""

    first: Float[Tensor, "lines rows images"]
    last: Float[Tensor, "lines rows images"]


def lines_drawn(
    start: Float[Tensor, "images lines 2"],
    end: Float[Tensor, "images lines 2"],
    width: Float[Tensor, " images"],
    is_used: Bool[Tensor, "images lines"],
    size: int,
) -> UInt8[Tensor, "images {size} {size}"]:
    """1 where one of the lines that are in use covers a pixel, else 0.

    Ends are columns and rows, ``(x, y)``, whole numbers, and may lie outside; widths are whole numbers of at least 1.

    >>> corner = torch.zeros(1, 1, 2)
    >>> lines_drawn(corner, corner + 2, torch.ones(1), torch.ones(1, 1, dtype=torch.bool), size=3)
    tensor([[[1, 0, 0],
             [0, 1, 0],
             [0, 0, 1]]], dtype=torch.uint8)
    """
    (x, y), (across, down) = (points.permute(2, 1, 0)[:, :, None].contiguous() for points in (start, end - start))
    lines = Segments(x, y, across, down)  # (lines, 1, images) each
    rows = torch.arange(size, dtype=start.dtype, device=start.device)[:, None]  # (rows, 1)
    thin, wide = _thin_spans(lines, rows), _wide_spans(lines, width, rows)
    first = torch.where(width == 1, thin.first, wide.first).clamp(0, size)  # (lines, rows, images)
    last = torch.where(width == 1, thin.last, wide.last).clamp(-1, size - 1)
    return _filled(first, last * is_used.mT[:, None] - (~is_used).mT[:, None].to(last), size)


def _filled(
    first: Float[Tensor, "lines rows images"], last: Float[Tensor, "lines rows images"], size: int
) -> UInt8[Tensor, "images {size} {size}"]:
    """Fill the spans from a table of all possible ones, which is much faster than comparing each column."""
    columns = torch.arange(size, device=first.device)
    ends = torch.arange(-1, size, device=first.device)
    covered = (columns > ends[:, None, None]) & (columns <= ends[:, None])  # (before, last, columns)
    table = covered.flatten(0, 1).to(torch.uint8)  # ((size + 1)^2, columns)
    index = (first * (size + 1) + last + 1).long().mT.flatten(1)  # (lines, images * rows)
    drawn = table.index_select(0, index[0])
    for others in index[1:]:
        torch.maximum(drawn, table.index_select(0, others), out=drawn)
    return drawn.unflatten(0, (-1, size))


def _thin_spans(lines: Segments, rows: Float[Tensor, "rows 1"]) -> Spans:
    """Spans of lines of one pixel (Bresenham's): one column a row if it is steep, a run of columns if it is flat."""
    x, y, across, down = lines
    step = (rows - y) * torch.where(down < 0, -1, 1)  # how many rows after the start
    run = across.abs() / down.abs().clamp(min=1e-3)  # columns a row
    low = torch.where(run < 1, (run * step + 0.5).floor(), (run * (step - 0.5)).ceil().clamp(min=0))
    high = torch.where(run < 1, low, torch.minimum((run * (step + 0.5)).ceil() - 1, across.abs()))
    outside = (step < 0) | (step > down.abs())
    backwards = across < 0
    first, last = torch.where(backwards, x - high, x + low), torch.where(backwards, x - low, x + high)
    return Spans(first.masked_fill(outside, torch.inf), last.masked_fill(outside, -torch.inf))


def _wide_spans(lines: Segments, width: Float[Tensor, " images"], rows: Float[Tensor, "rows 1"]) -> Spans:
    """Spans of wider lines, which are drawn as quadrilaterals."""
    x, y, across, down = _edges(lines, width)  # (4, lines, 1, images) each
    crossing = x + (rows - y) * torch.where(down == 0, 0, across / down)  # (4, lines, rows, images)
    top, bottom = torch.minimum(y, y + down), torch.maximum(y, y + down)
    outside = (rows - rows.clamp(top, bottom)).abs() * FAR  # faster than a mask
    first, last = (crossing + outside).amin(0), (crossing - outside).amax(0)
    return Spans((first + 0.5).floor(), (last - 0.5).ceil())


def _edges(lines: Segments, width: Float[Tensor, " images"]) -> Segments:
    """The edges between corners on the grid; an even width has its extra pixel on one side."""
    x, y, across, down = lines
    length = torch.hypot(across, down).clamp(min=1)
    less, more = ((width - 1) / 2).floor() / length, ((width - 1) / 2).ceil() / length  # (lines, 1, images)
    left, right, up, low = (_rounded(side) for side in (less * down, more * down, less * across, more * across))
    corner_x = torch.stack([x - left, x + across - left, x + across + right, x + right])  # (4, lines, 1, images)
    corner_y = torch.stack([y + low, y + down + low, y + down - up, y - up])
    return Segments(corner_x, corner_y, corner_x.roll(-1, dims=0) - corner_x, corner_y.roll(-1, dims=0) - corner_y)


def _rounded(values: Float[Tensor, "lines 1 images"]) -> Float[Tensor, "lines 1 images"]:
    """Round to the nearest whole number, halves towards 0."""
    return values.sign() * (values.abs() - 0.5).ceil()
