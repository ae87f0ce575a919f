"""Tasks resampled from real examples: the prior of fine-tuning."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from priorfit.data import Classes, Outcome
from priorfit.errors import InputError, ShapeError
from priorfit.fields import check_fields
from priorfit.priors.class_conditional import ClassConditional, check_shots
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.translation import margins, translated


@dataclass(frozen=True, eq=False)
class Empirical(ClassConditional):
    """N-way tasks of real examples, which are grouped by class, and classes by group (an alphabet, a table).

    A dataset takes one group, ``num_ways`` of its classes, labelled in random order, and for each point an example
    of its class. Examples are drawn without replacement until a class has no more. Images are moved by up to
    ``max_shift`` pixels in each direction, as far as no ink leaves them (the paper's augmentation): 0 is no ink.

    ``examples`` are images ``(groups, classes, examples, height, width)`` or features ``(groups, classes, examples,
    features)``; bytes are divided by 255. Where not all classes have as many examples, ``counts`` says how many of
    them there are (0: no such class), and the others do not matter; `from_tables` puts them together. A description
    holds no examples, so that none can be built from a recipe: give the object itself to `fit` or `train`.

    >>> letters = torch.randint(0, 256, (3, 8, 20, 28, 28), dtype=torch.uint8)  # 3 alphabets, 20 drawers
    >>> prior = Empirical(letters, num_ways=5, num_shots=5, max_shift=3)
    >>> prior.sample(batch_size=2, num_points=30).split(num_context=25).context_x.shape
    torch.Size([2, 25, 784])
    """

    examples: Num[Tensor, "groups classes examples *size"] = field(repr=False, metadata={"described": False})
    num_ways: int = 5
    num_shots: int | None = None
    max_shift: int = 0
    name: str = "empirical"
    counts: Int[Tensor, "groups classes"] | None = field(default=None, repr=False, metadata={"described": False})

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)
    _pool: Num[Tensor, "pool features"] = field(init=False, repr=False)
    _counts: Int[Tensor, "groups classes"] = field(init=False, repr=False)
    _margins: Int[Tensor, "pool 4"] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        outcome = Classes(self.num_ways)
        check_shots(self.num_shots)
        self._check_examples()
        self._check_shift()
        counts = self._checked_counts()
        is_bytes = self.examples.dtype == torch.uint8
        pool = self.examples if is_bytes else self.examples.to(torch.get_default_dtype())
        derived = {
            "num_features": self.examples[0, 0, 0].numel(),
            "inputs": UniformInputs() if is_bytes else _range(pool),
            "outcome": outcome,
            "_pool": pool.flatten(3).flatten(0, 2),
            "_counts": counts,
            "_margins": margins(pool.flatten(0, 2)) if self.max_shift > 0 else None,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_tables(
        cls,
        tables: Sequence[tuple[Num[Tensor, "_ *_"], Num[Tensor, " _"]]],
        num_ways: int = 5,
        num_shots: int | None = None,
        max_shift: int = 0,
        name: str = "empirical",
    ) -> "Empirical":
        """Build it from tables ``(x, y)``, one a group: ``x (rows, features)`` or images, and any labels ``y (rows)``.

        >>> table = torch.randn(50, 4), torch.arange(50) % 3
        >>> Empirical.from_tables([table], num_ways=3).sample(batch_size=2, num_points=10).x.shape
        torch.Size([2, 10, 4])
        """
        by_class = [_by_class(x, y) for x, y in tables]
        if not by_class or any(part.shape[1:] != by_class[0][0].shape[1:] for parts in by_class for part in parts):
            raise ShapeError("from_tables needs one table or more, with rows of one size; got none, or several sizes.")
        counts = torch.zeros(len(by_class), max(map(len, by_class)), dtype=torch.int64)
        for group, parts in enumerate(by_class):
            counts[group, : len(parts)] = torch.tensor([len(part) for part in parts])
        first = by_class[0][0][0]  # a placeholder where a class has fewer examples
        examples = first.expand(*counts.shape, int(counts.max()), *first.shape).clone()
        for group, parts in enumerate(by_class):
            for label, part in enumerate(parts):
                examples[group, label, : len(part)] = part
        return cls(examples, num_ways, num_shots, max_shift, name, counts)

    def __str__(self) -> str:
        """The name of the prior."""
        return self.name

    def features(self, labels: Int[Tensor, "batch points"]) -> Float[Tensor, "batch points features"]:
        """See `ClassConditional.features`."""
        rows = self._rows(labels).flatten()
        x = self._pool.index_select(0, rows)
        if self._margins is not None:
            height, width = self.examples.shape[-2:]
            room = self._margins.index_select(0, rows).clamp(max=self.max_shift)
            x = translated(x.unflatten(1, (height, width)), room).flatten(1)
        x = x.to(torch.get_default_dtype()).div_(255) if x.dtype == torch.uint8 else x
        return x.unflatten(0, labels.shape)

    def _rows(self, labels: Int[Tensor, "batch points"]) -> Int[Tensor, "batch points"]:
        """The index of the example at each point."""
        (num_groups, num_classes), num_examples = self._counts.shape, self.examples.shape[2]
        group = torch.randint(num_groups, (len(labels), 1))  # (batch, 1)
        classes = _shuffled(self._counts[group[:, 0]] > 0)[:, : self.num_ways]  # (batch, ways)
        counts = self._counts[group, classes]
        order = _shuffled(torch.arange(num_examples) < counts[..., None])  # (batch, ways, examples)
        turn = _earlier_of_the_same(labels, self.num_ways) % counts.gather(1, labels)
        example = order[torch.arange(len(labels))[:, None], labels, turn]
        return (group * num_classes + classes.gather(1, labels)) * num_examples + example

    def _check_examples(self) -> None:
        if self.examples.ndim not in (4, 5) or self.examples.numel() == 0:
            raise ShapeError(
                "examples must have shape (groups, classes, examples, height, width) or (groups, classes, examples, "
                f"features), none of them 0; got {tuple(self.examples.shape)}. For one group, give examples[None]."
            )
        if not bool(self.examples.isfinite().all()):
            raise InputError("examples must be finite; got NaN or infinity. Fill or drop what is missing.")

    def _check_shift(self) -> None:
        if self.max_shift < 0 or (self.max_shift > 0 and self.examples.ndim != 5):
            raise InputError(f"max_shift must be at least 0, and 0 unless examples are images; got {self.max_shift}.")

    def _checked_counts(self) -> Int[Tensor, "groups classes"]:
        (*shape, most), counts = self.examples.shape[:3], self.counts
        counts = torch.full(shape, most) if counts is None else counts
        if list(counts.shape) != shape or bool(((counts < 0) | (counts > most)).any()):
            raise InputError(
                f"counts must have shape (groups, classes) = {tuple(shape)}, with values in 0 ... {most}; got shape "
                f"{tuple(counts.shape)}, with values from {int(counts.min())} to {int(counts.max())}."
            )
        fewest = int((counts > 0).sum(-1).min())
        if fewest < self.num_ways:
            raise InputError(
                f"each group needs at least num_ways = {self.num_ways} classes; got one of {fewest}. Leave it out, or "
                "lower num_ways."
            )
        return counts


def _range(pool: Float[Tensor, "..."]) -> UniformInputs:
    low, high = float(pool.min()), float(pool.max())
    if low == high:
        raise InputError(f"examples must differ; got {low:g} everywhere.")
    return UniformInputs(low, high)


def _by_class(x: Num[Tensor, "rows *size"], y: Num[Tensor, " rows"]) -> list[Num[Tensor, "_ *size"]]:
    return [x[y == label] for label in y.unique()]


def _shuffled(allowed: Tensor) -> Int[Tensor, "..."]:
    """Indices along the last axis in random order, the allowed ones first."""
    return torch.rand(allowed.shape).masked_fill(~allowed, 2).argsort(-1)


def _earlier_of_the_same(labels: Int[Tensor, "batch points"], num_ways: int) -> Int[Tensor, "batch points"]:
    """For each point, how many points of its label come before it."""
    so_far = torch.nn.functional.one_hot(labels, num_ways).cumsum(1)  # (batch, points, ways)
    return so_far.gather(2, labels[..., None])[..., 0] - 1
