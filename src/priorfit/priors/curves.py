"""Joined, curved strokes as handwriting: characters of one alphabet share primitives, and some differ in one stroke."""

from dataclasses import dataclass, field, replace
from math import pi

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from priorfit.data import Outcome
from priorfit.errors import InputError
from priorfit.priors.curve_drawing import bernstein, curves_drawn
from priorfit.priors.distortion import Distortion
from priorfit.priors.drawn_characters import DrawnCharacters

Controls = Float[Tensor, "*_ 4 2"]
"""Control points of cubic curves, in units of the image's side."""

CLOSED = 0.15
"""Share of the primitives that end near where they begin: loops."""
FILLED = 0.7
"""Share of the image's side that a character fills before drawers distort it."""


@dataclass(frozen=True)
class Plan:
    """How the strokes of characters are put together, each field ``(batch, ways, strokes)``.

    ``primitive`` is an index, ``turn`` a number of quarter turns, ``size`` a factor. A stroke's point at ``own`` lies
    on the point at ``other`` of an ``earlier`` stroke, or, where it is not ``joined``, at ``(across, down)``.
    """

    primitive: Int[Tensor, "batch ways strokes"]
    turn: Int[Tensor, "batch ways strokes"]
    size: Float[Tensor, "batch ways strokes"]
    joined: Float[Tensor, "batch ways strokes"]
    earlier: Float[Tensor, "batch ways strokes"]
    own: Float[Tensor, "batch ways strokes"]
    other: Float[Tensor, "batch ways strokes"]
    across: Float[Tensor, "batch ways strokes"]
    down: Float[Tensor, "batch ways strokes"]


@dataclass(frozen=True)
class Curves(DrawnCharacters):
    """N-way tasks on images of characters: a few cubic curves each, which join or cross, drawn anew for each point.

    An input is an image of ``image_size`` x ``image_size`` pixels, row by row, 0 where there is no ink; a target is its
    class. All characters of a dataset are put together from its ``num_primitives`` curves. A share ``alike`` of the
    characters is another one of the dataset with a stroke exchanged: what makes letters hard to tell apart. For each
    image the control points move by ``jitter`` (in shares of the side), a `Distortion` of the drawer acts on the whole,
    and the pen's width is drawn. See `ClassConditional` for ``num_shots``, and for `draw`.

    >>> tasks = Curves(num_ways=5, num_shots=5).sample(batch_size=2, num_points=30).split(num_context=25)
    >>> tasks.context_x.shape, tasks.context_y[0].int().bincount()
    (torch.Size([2, 25, 784]), tensor([5, 5, 5, 5, 5]))
    """

    num_ways: int = 5
    num_shots: int | None = None
    image_size: int = 28
    num_strokes: tuple[int, int] = (1, 5)
    num_primitives: int = 6
    alike: float = 0.4
    joined: float = 0.85
    jitter: float = 0.02
    distortion: Distortion = Distortion()
    pen: tuple[float, float] = (0.015, 0.023)
    """The least and the largest width of the pen: the standard deviation of its profile, in shares of the side."""
    num_features: int = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields."""
        self._check_task()
        if self.num_primitives < 1 or not 1 <= self.num_strokes[0] <= self.num_strokes[1]:
            raise InputError(
                "Curves needs num_primitives >= 1 and 1 <= least <= most of num_strokes; got "
                f"num_primitives={self.num_primitives}, num_strokes={self.num_strokes}."
            )
        if not (0 <= self.alike <= 1 and 0 <= self.joined <= 1 and self.jitter >= 0):
            raise InputError(
                "alike and joined must lie in [0, 1], and jitter must be at least 0; got "
                f"alike={self.alike}, joined={self.joined}, jitter={self.jitter}."
            )
        if not 0 < self.pen[0] <= self.pen[1] < 1:
            raise InputError(f"pen must be 0 < least <= largest < 1; got {self.pen}.")

    def features(self, labels: Int[Tensor, "batch points"]) -> Float[Tensor, "batch points features"]:
        """See `ClassConditional.features`."""
        controls, weights = self.characters(len(labels))
        index = (labels + self.num_ways * torch.arange(len(labels))[:, None]).flatten()
        images = self.images(controls.flatten(0, 1)[index], weights.flatten(0, 1)[index])
        return images.flatten(1).unflatten(0, labels.shape)

    def characters(
        self, batch_size: int
    ) -> tuple[Float[Tensor, "batch ways strokes 4 2"], Float[Tensor, "batch ways strokes"]]:
        """Draw one character a class: control points about the middle, and 1 for each stroke that is drawn, else 0."""
        most = self.num_strokes[1]
        count = torch.randint(self.num_strokes[0], most + 1, (batch_size, self.num_ways))
        plan, source = self._plans(batch_size), self._sources(batch_size)
        count = count.gather(1, source)  # look-alikes have as many strokes, of which one is exchanged
        exchanged = (torch.rand(count.shape) * count).long()[..., None] == torch.arange(most)
        is_own = exchanged | (source == torch.arange(self.num_ways))[..., None]
        plan = Plan(**{name: _copied(own, source, is_own) for name, own in vars(plan).items()})
        plan, count = self._told_apart(plan, count)
        used = torch.arange(most) < count[..., None]
        return _centred(self._placed(plan, self._primitives(batch_size)), used), used.to(torch.get_default_dtype())

    def _primitives(self, batch_size: int) -> Controls:
        """Curves that begin at 0: straight ones, arcs, S-curves and loops."""
        shape = (batch_size, self.num_primitives)
        upright = pi / 4 * torch.randint(8, shape) + 0.1 * torch.randn(shape)
        angle = torch.where(torch.rand(shape) < 0.6, upright, 2 * pi * torch.rand(shape))
        length = 0.25 + 0.6 * torch.rand(shape)
        bend, twist = 0.5 * torch.randn(shape) * (torch.rand(shape) < 0.6), 0.25 * torch.randn(shape)
        reach = torch.where(torch.rand(shape) < CLOSED, 0.2 * torch.rand(shape), torch.ones(shape))
        bend = torch.where(reach < 1, 1.2 * bend.sign() + bend, bend)
        along = torch.stack([0 * reach, 0.33 + 0 * reach, reach - 0.33 * reach.sign(), reach], dim=-1)
        aside = torch.stack([0 * bend, bend + twist, bend - twist, 0 * bend], dim=-1)
        frame = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()], dim=-1).unflatten(-1, (2, 2))
        return length[..., None, None] * torch.stack([along, aside], dim=-1) @ frame

    def _plans(self, batch_size: int) -> Plan:
        shape = (batch_size, self.num_ways, self.num_strokes[1])
        return Plan(
            primitive=torch.randint(self.num_primitives, shape),
            turn=torch.where(torch.rand(shape) < 0.4, torch.randint(4, shape), 0),
            size=0.6 + 0.6 * torch.rand(shape),
            joined=(torch.rand(shape) < self.joined).to(torch.get_default_dtype()),
            earlier=torch.rand(shape),
            own=_end_or_between(shape),
            other=_end_or_between(shape),
            across=0.25 * torch.randn(shape),
            down=0.25 * torch.randn(shape),
        )

    def _told_apart(self, plan: Plan, count: Int[Tensor, "batch ways"]) -> tuple[Plan, Int[Tensor, "batch ways"]]:
        """Give each character of one stroke a curve of its own: two of the same would be one class under two labels.

        Size and place of a single stroke are lost when characters are scaled, and some curves are the same after a half
        turn, so that a primitive has two forms. Where there are more such characters than forms, the others get more
        strokes, or, where one is the most, forms are used again.
        """
        forms = 2 * self.num_primitives
        order = torch.rand(len(count), forms).argsort(1)
        number = (count == 1).long().cumsum(1) - 1
        form = order.gather(1, number.clamp(0, forms - 1))[..., None]
        count = torch.where((count == 1) & (number >= forms), min(2, self.num_strokes[1]), count)
        is_alone = ((count == 1)[..., None]) & (torch.arange(self.num_strokes[1]) == 0)
        primitive = torch.where(is_alone, form // 2, plan.primitive)
        return replace(plan, primitive=primitive, turn=torch.where(is_alone, form % 2, plan.turn)), count

    def _sources(self, batch_size: int) -> Int[Tensor, "batch ways"]:
        """The character that each one is like: mostly itself, or one before it."""
        own = torch.arange(self.num_ways)
        before = (torch.rand(batch_size, self.num_ways) * own).long()
        is_like = (torch.rand(batch_size, self.num_ways) < self.alike) & (own > 0)
        return torch.where(is_like, before, own)

    def _placed(self, plan: Plan, primitives: Controls) -> Controls:
        """Control points of all strokes, one after the other, since each is placed by an earlier one."""
        curves = primitives[
            torch.arange(len(primitives))[:, None, None], plan.primitive
        ]  # (batch, ways, strokes, 4, 2)
        curves = _turned(curves * plan.size[..., None, None], plan.turn)
        placed = [curves[:, :, 0]]
        for stroke in range(1, self.num_strokes[1]):
            earlier = torch.stack(placed, dim=2)
            chosen = (plan.earlier[..., stroke] * stroke).long()[..., None, None, None].expand(-1, -1, 1, 4, 2)
            joint = _point(earlier.gather(2, chosen)[:, :, 0], plan.other[..., stroke])
            free = torch.stack([plan.across[..., stroke], plan.down[..., stroke]], dim=-1)
            target = torch.lerp(free, joint, plan.joined[..., stroke, None])
            own = curves[:, :, stroke]
            placed.append(own + (target - _point(own, plan.own[..., stroke]))[..., None, :])
        return torch.stack(placed, dim=2)

    def images(
        self, controls: Float[Tensor, "images strokes 4 2"], weights: Float[Tensor, "images strokes"]
    ) -> Float[Tensor, "images size size"]:
        """Draw one image of each character, by a drawer of its own."""
        count = len(controls)
        drawn = controls + self.jitter * (torch.randn(controls.shape) + torch.randn(count, controls.shape[1], 1, 1))
        scale = torch.exp(0.1 * torch.randn(count, 1, 1))
        drawn = (drawn.flatten(1, 2) + self._field(drawn.flatten(1, 2))) @ (scale * self.distortion.matrices(count))
        drawn = drawn + 0.05 * torch.randn(count, 1, 2)
        low, high = self.pen
        pen = low + (high - low) * torch.rand(count)
        return curves_drawn(drawn.unflatten(1, controls.shape[1:3]), weights, pen, self.image_size)

    def _field(self, points: Float[Tensor, "images points 2"]) -> Float[Tensor, "images points 2"]:
        """A smooth displacement of each image: waves about as long as the side, of the distortion's elastic scale."""
        waves = 4 * torch.randn(len(points), 2, 2)
        phases = points @ waves + 2 * pi * torch.rand(len(points), 1, 2)
        return 2**0.5 * self.distortion.elastic * phases.sin()


def _end_or_between(shape: tuple[int, ...]) -> Float[Tensor, "..."]:
    """Where curves join: at the beginning, at the end, or anywhere between."""
    kind = torch.rand(shape)
    return torch.where(kind < 0.35, 0.0, torch.where(kind < 0.7, 1.0, torch.rand(shape)))


def _copied(own: Tensor, source: Int[Tensor, "batch ways"], is_own: Tensor) -> Tensor:
    """A field of a plan with the values of the source but for the strokes that are a character's own."""
    return torch.where(is_own, own, own.gather(1, source[..., None].expand_as(own)))


def _turned(curves: Controls, turn: Int[Tensor, "*_"]) -> Controls:
    """Curves after so many quarter turns."""
    x, y = curves.unbind(-1)
    turned = torch.stack([curves, torch.stack([-y, x], -1), -curves, torch.stack([y, -x], -1)])
    return turned.gather(0, turn[None, ..., None, None].expand(1, *curves.shape))[0]


def _point(curves: Float[Tensor, "*batch 4 2"], place: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch 2"]:
    """The point of each curve at a place from 0 to 1."""
    return (bernstein(place)[..., None, :] @ curves)[..., 0, :]


def _centred(
    controls: Float[Tensor, "batch ways strokes 4 2"], used: Bool[Tensor, "batch ways strokes"]
) -> Float[Tensor, "batch ways strokes 4 2"]:
    """Characters about the middle, of the same largest extent."""
    points = bernstein(torch.linspace(0, 1, 6)) @ controls  # (batch, ways, strokes, 6, 2)
    hidden = ~used[..., None, None]
    low = points.masked_fill(hidden, torch.inf).amin((2, 3), keepdim=True)
    high = points.masked_fill(hidden, -torch.inf).amax((2, 3), keepdim=True)
    extent = (high - low).amax(-1, keepdim=True).clamp_min(1e-3)
    return FILLED * (controls - (low + high) / 2) / extent
