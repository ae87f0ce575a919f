from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.errors import InputError, RecipeError
from priorfit.fields import check_fields, fits


@dataclass(frozen=True)
class Leaf:
    size: float = 1.0

    def __post_init__(self):
        check_fields(self)


@dataclass(frozen=True)
class Unchecked:
    size: float = 1.0


@dataclass(frozen=True)
class Tree:
    height: int = 1
    age: float | None = None
    season: Literal["spring", "autumn"] = "spring"
    rings: Sequence[float] = ()
    place: tuple[int, int] = (0, 0)
    leaf: Leaf | Unchecked = Leaf()
    leaves: Sequence[Leaf | Unchecked] = ()
    grow: Callable[[float], float] = abs
    weights: Float[Tensor, "any shape"] | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    extra: Any = None
    derived: float = field(init=False, default="not checked")

    def __post_init__(self):
        check_fields(self, RecipeError)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"height": 1.5}, r"height of a Tree must be a whole number; got 1\.5\."),
        ({"height": True}, r"height of a Tree must be a whole number; got True\."),
        ({"height": "3"}, r"height of a Tree must be a whole number; got '3'\."),
        ({"age": "old"}, r"age of a Tree must be a number or nothing; got 'old'\."),
        ({"age": float("nan")}, r"age of a Tree must be finite; got nan\."),
        ({"age": torch.ones(())}, r"age of a Tree must be a number or nothing; got tensor"),
        ({"season": "sprng"}, r"season .* one of 'spring', 'autumn'; got 'sprng'\. Did you mean 'spring'\?"),
        ({"season": ["spring"]}, r"season .* got \['spring'\]\."),
        ({"rings": 3}, "rings of a Tree must be .*Sequence.*; got 3"),
        ({"rings": "12"}, "rings of a Tree must be .*Sequence.*; got '12'"),
        ({"rings": [1, "x"]}, "rings of a Tree"),
        ({"place": (1,)}, r"place of a Tree must be tuple\[int, int\]; got \(1,\)"),
        ({"leaf": Leaf}, r"leaf of a Tree must be Leaf or Unchecked; got <class"),
        ({"leaf": "green"}, r"leaf of a Tree must be Leaf or Unchecked; got 'green'"),
        ({"leaf": Unchecked("x")}, r"size of a Unchecked must be a number; got 'x'"),
        ({"leaves": [Leaf(), Unchecked("x")]}, r"size of a Unchecked must be a number; got 'x'"),
        ({"grow": 3}, "grow of a Tree must be"),
        ({"notes": []}, "notes of a Tree must be"),
    ],
)
def test_a_wrong_field_is_named_with_what_was_expected_and_what_came(fields, message):
    with pytest.raises(RecipeError, match=message):
        Tree(**fields)


def test_what_fits_is_left_alone():
    tree = Tree(3, 7, "autumn", [1, 2.5], [4, 5], Unchecked(), (Leaf(2),), max, torch.ones(2, 2), {"a": 1}, object())
    assert tree.age == 7 and tree.rings == [1, 2.5]


def test_numbers_of_numpy_become_pythons_own():
    tree = Tree(np.int64(3), np.float32(0.5))
    assert (type(tree.height), type(tree.age)) == (int, float)
    with pytest.raises(RecipeError, match="height of a Tree must be a whole number"):
        Tree(np.float64(1.5))


def test_a_part_raises_its_own_error_when_it_is_made_alone():
    with pytest.raises(InputError, match="size of a Leaf must be finite; got inf"):
        Leaf(float("inf"))


def test_an_annotation_that_cannot_be_found_is_not_checked():
    @dataclass(frozen=True)
    class Local:
        size: "NowhereToBeFound" = 1

        def __post_init__(self):
            check_fields(self)

    assert Local("anything").size == "anything"


def test_whole_numbers_too_large_for_a_float_are_numbers():
    assert fits(10**400, float) and not fits(float("inf"), float)
