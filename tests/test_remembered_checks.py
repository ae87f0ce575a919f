"""What the checks of shapes find, whatever passed before."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pytest
import torch
from beartype import beartype
from jaxtyping import Float, TypeCheckError
from remembered_checks import jaxtyped
from torch import Tensor

asked: list[str] = []
"""The names of the functions about which beartype was asked."""


def noting(fn: Any) -> Any:
    checked = beartype(fn)

    def noted(*args: Any, **kwargs: Any) -> Any:
        asked.append(fn.__name__)
        return checked(*args, **kwargs)

    return noted


@jaxtyped(typechecker=noting)
def product(x: Float[Tensor, "rows inner"], y: Float[Tensor, "inner columns"]) -> Float[Tensor, "rows columns"]:
    return x @ y if x.sum() >= 0 else y


def test_a_kind_of_call_is_checked_once():
    asked.clear()
    for _ in range(5):
        product(torch.ones(2, 3), torch.ones(3, 4))
        product(torch.ones(2, 3), y=torch.ones(3, 4))
    assert asked == ["product"] * 4  # arguments, then arguments and result, of both ways to call it


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (torch.ones(2, 3), torch.ones(4, 3)),  # sizes that do not fit each other
        (torch.ones(2, 3), torch.ones(3, 4, 1)),
        (torch.ones(2, 3, dtype=torch.long), torch.ones(3, 4)),
        (torch.ones(2, 3), [[1.0] * 4] * 3),
    ],
)
def test_a_wrong_argument_is_found_behind_right_ones(x: Any, y: Any):
    for _ in range(2):
        product(torch.ones(2, 3), torch.ones(3, 4))
        with pytest.raises(TypeCheckError, match="parameters of .*product"):
            product(x, y)


def test_a_wrong_result_is_found_behind_right_ones_of_the_same_arguments():
    for _ in range(2):
        product(torch.ones(2, 3), torch.ones(3, 4))
        with pytest.raises(TypeCheckError, match="return value of .*product"):
            product(-torch.ones(2, 3), torch.ones(3, 4))


@jaxtyped(typechecker=beartype)
def total(parts: list[Float[Tensor, " size"]], how: Literal["sum", "mean"] = "sum") -> Tensor:
    return torch.stack(parts).sum(0)


def test_what_rests_on_values_is_checked_at_every_call():
    for _ in range(2):
        total([torch.ones(2)], "mean")
        with pytest.raises(TypeCheckError):
            total([torch.ones(2, 2)])
        with pytest.raises(TypeCheckError):
            total([torch.ones(2)], "product")  # pyright: ignore[reportArgumentType]


@jaxtyped(typechecker=beartype)
def repeated(x: Float[Tensor, " n"], count: int, parts: tuple[Tensor, ...] = ()) -> Float[Tensor, "{count} n"]:
    return x.expand(2, len(x))


def test_a_size_that_an_argument_names_is_checked_at_every_call():
    repeated(torch.ones(3), 2)
    with pytest.raises(TypeCheckError):
        repeated(torch.ones(3), 4)


class Pair(NamedTuple):
    one: Any
    other: Any


@jaxtyped(typechecker=beartype)
def summed(pair: tuple[Float[Tensor, " n"], Float[Tensor, " n"]]) -> Float[Tensor, " n"]:
    return pair[0] + pair[1]


def test_parts_of_a_named_tuple_are_checked():
    for _ in range(2):
        summed(Pair(torch.ones(2), torch.ones(2)))
        with pytest.raises(TypeCheckError):
            summed(Pair(torch.ones(2), torch.ones(3)))


@jaxtyped(typechecker=beartype)
@dataclass(frozen=True)
class Points:
    x: Float[Tensor, "points features"]
    y: Float[Tensor, " points"]
    more: tuple[Float[Tensor, " points"], ...] = ()


@jaxtyped(typechecker=beartype)
class Subset(Points):
    pass


@pytest.mark.parametrize("of", [Points, Subset])
def test_fields_of_a_dataclass_are_checked(of: type[Points]):
    for _ in range(2):
        of(torch.ones(2, 3), torch.ones(2), (torch.ones(2),))
        with pytest.raises(TypeCheckError):
            of(torch.ones(2, 3), torch.ones(3))
        with pytest.raises(TypeCheckError):
            of(torch.ones(2, 3), torch.ones(2), (torch.ones(2, 1),))
