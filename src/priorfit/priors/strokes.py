"""Random straight lines as handwriting: the paper's prior for few-shot learning (appendix H)."""

from dataclasses import dataclass, field
from math import isfinite, pi, sqrt
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from priorfit.data import Outcome
from priorfit.errors import InputError
from priorfit.priors.drawn_characters import DrawnCharacters
from priorfit.priors.line_drawing import lines_drawn

DIRECTIONS_TRIED = 3
"""Directions that are tried for a stroke before a new start and length are drawn."""


class Characters(NamedTuple):
    """One set of strokes for each class: where each starts, where it goes, and whether there is one."""

    start: Float[Tensor, "*batch strokes 2"]
    along: Float[Tensor, "*batch strokes 2"]
    is_used: Bool[Tensor, "*batch strokes"]


@dataclass(frozen=True)
class Strokes(DrawnCharacters):
    """N-way tasks on images of characters, each a few straight strokes, drawn anew with jitter for each point.

    An input is an image of ``image_size`` x ``image_size`` pixels, row by row, 0 where there is no ink; a target is
    its class. Lengths are shares of the image's size, with the paper's values, and count whole pixels. Drawn for each
    class of a dataset: the number of strokes, and their starts, lengths and directions, such that they end within the
    image. For each image: the pen's width, an offset of the whole, one of each stroke's end, and the ink of each pixel.
    See `ClassConditional` for ``num_shots``, and for `draw`.

    >>> tasks = Strokes(num_ways=5, num_shots=5).sample(batch_size=2, num_points=30).split(num_context=25)
    >>> tasks.context_x.shape, tasks.context_y[0].int().bincount()
    (torch.Size([2, 25, 784]), tensor([5, 5, 5, 5, 5]))
    """

    num_ways: int = 5
    num_shots: int | None = None
    image_size: int = 28
    num_strokes: tuple[int, int] = (1, 3)
    stroke_length: tuple[float, float] = (5 / 28, 20 / 28)
    stroke_start: tuple[float, float] = (2 / 28, 25 / 28)
    stroke_width: tuple[float, float] = (1 / 28, 4 / 28)
    max_offset: float = 4 / 28
    max_end_offset: float = 2 / 28
    ink: tuple[float, float] = (200 / 255, 254 / 255)
    blur: float = 0.2
    """Standard deviation of the Gaussian blur, in pixels."""

    num_features: int = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields."""
        self._check_task()
        self._check_offsets()
        self._check_ranges()

    def _check_offsets(self) -> None:
        for name in ("max_offset", "max_end_offset", "blur"):
            if not (getattr(self, name) >= 0 and isfinite(getattr(self, name))):
                raise InputError(f"{name} must be finite and at least 0; got {getattr(self, name)}.")

    def _check_ranges(self) -> None:
        limits = {"num_strokes": (1, torch.inf), "stroke_length": (0, torch.inf), "stroke_start": (0, 1)}
        for name, (least, most) in {**limits, "stroke_width": (0, 1), "ink": (0, 1)}.items():
            low, high = getattr(self, name)
            if not (least <= low <= high <= most and isfinite(high)):
                raise InputError(f"{name} must be low <= high, both within [{least}, {most}]; got ({low}, {high}).")
        nearest, furthest = self._pixels(self.stroke_start)
        reach = sqrt(2) * max(furthest, self.image_size - 1 - nearest)  # to the corner from the best start
        if self._pixels(self.stroke_length)[0] >= reach:
            raise InputError(
                f"stroke_length must allow strokes of less than {reach / self.image_size:.3g}, the longest that fit "
                f"into the image; got {self.stroke_length}."
            )

    def _pixels(self, shares: tuple[float, float]) -> tuple[int, int]:
        return int(self.image_size * shares[0]), int(self.image_size * shares[1])

    def features(self, labels: Int[Tensor, "batch points"]) -> Float[Tensor, "batch points features"]:
        """See `ClassConditional.features`."""
        characters = self.characters(len(labels))
        index = (labels + self.num_ways * torch.arange(len(labels))[:, None]).flatten()
        images = self.images(Characters(*(part.flatten(0, 1)[index] for part in characters)))
        return images.flatten(1).unflatten(0, labels.shape)

    def characters(self, batch_size: int) -> Characters:
        """Draw one character for each class of each dataset: ``(batch, ways, strokes, ...)``."""
        shape = (batch_size, self.num_ways, self.num_strokes[1])
        start, along = self._strokes(batch_size * self.num_ways * self.num_strokes[1])
        count = _whole(self.num_strokes, (*shape[:2], 1))
        return Characters(start.unflatten(0, shape), along.unflatten(0, shape), torch.arange(shape[2]) < count)

    def _strokes(self, count: int) -> tuple[Float[Tensor, "count 2"], Float[Tensor, "count 2"]]:
        """Starts and displacements of strokes that end within the image, by rejection sampling."""
        start, along = torch.empty(count, 2), torch.empty(count, 2)
        missing = torch.arange(count)
        while len(missing) > 0:
            first = _whole(self._pixels(self.stroke_start), (len(missing), 2))
            length = _whole(self._pixels(self.stroke_length), (len(missing), 1, 1))
            radians = 2 * pi * torch.rand(len(missing), DIRECTIONS_TRIED)
            ways = length * torch.stack([radians.cos(), radians.sin()], dim=-1)  # (missing, tried, 2)
            last = first[:, None] + ways
            fits = ((last >= 0) & (last <= self.image_size - 1)).all(-1)  # (missing, tried)
            start[missing] = first
            along[missing] = ways[torch.arange(len(missing)), fits.int().argmax(-1)]  # the first that fits
            missing = missing[~fits.any(-1)]
        return start, along

    def images(self, characters: Characters) -> Float[Tensor, "images size size"]:
        """Draw one image of each character, with its own jitter."""
        (start, along, is_used), size = characters, self.image_size
        thin, thick = self._pixels(self.stroke_width)
        width = _whole((max(1, thin), max(1, thick)), (len(start),))
        offset, end_offset = int(size * self.max_offset), int(size * self.max_end_offset)
        start = start + _whole((-offset, offset), (len(start), 1, 2))
        end = start + along + _whole((-end_offset, end_offset), tuple(along.shape))
        ink = self._ink(lines_drawn(start, end.round(), width, is_used, size))
        blur = torch.matrix_exp(self.blur**2 / 2 * _second_differences(size))  # (size, size)
        return torch.matmul(blur, ink @ blur, out=ink)

    def _ink(self, drawn: UInt8[Tensor, "images size size"]) -> Float[Tensor, "images size size"]:
        """Ink on each pixel that is drawn, uniform on 256 steps: a random byte is much cheaper than a random float."""
        words = torch.empty(drawn.numel() // 8 + 1, dtype=torch.int64).random_(-(2**63), None)
        steps = words.view(torch.uint8)[: drawn.numel()].reshape(drawn.shape).to(torch.get_default_dtype())
        low, high = self.ink
        return steps.mul_((high - low) / 255).add_(low).mul_(drawn.to(steps.dtype))


def _whole(bounds: tuple[int, int], shape: tuple[int, ...]) -> Float[Tensor, "..."]:
    """Whole numbers, uniform, both bounds included."""
    return torch.randint(bounds[0], bounds[1] + 1, shape).to(torch.get_default_dtype())


def _second_differences(size: int) -> Float[Tensor, "size size"]:
    """The matrix of second differences; its exponential is a Gaussian blur that loses no ink at the border."""
    neighbours = torch.ones(size - 1).diag(1) + torch.ones(size - 1).diag(-1)
    return neighbours - neighbours.sum(-1).diag()
