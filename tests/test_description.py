import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from priorfit.data import Classes
from priorfit.description import build, describe
from priorfit.errors import InputError, RecipeError
from priorfit.priors import PRIORS, GaussianProcess, Mixture, NormalInputs, UniformInputs
from priorfit.priors.function import prior


@dataclass(frozen=True)
class Leaf:
    size: float = 1.0


@dataclass(frozen=True)
class Tree:
    name: str
    height: int
    evergreen: bool = False
    age: float | None = None
    season: Literal["spring", "autumn"] = "spring"
    rings: tuple[float, ...] = ()
    place: tuple[int, int] = (0, 0)
    leaves: Sequence[Leaf] = ()
    extra: Any = None
    derived: float = field(init=False, default=2.0)

    def __post_init__(self):
        if self.height < 0:
            raise InputError("height must be at least 0.")


TABLE = {"Tree": Tree, "Leaf": Leaf, "GaussianProcess": GaussianProcess}
OAK = Tree("oak", 3, True, 7.5, "autumn", (1.0, 2.0), (4, 5), (Leaf(0.5), Leaf()), "x")


def test_a_description_holds_type_and_fields_and_omits_what_is_none():
    assert describe(Tree("fir", 9)) == {
        "type": "Tree",
        "name": "fir",
        "height": 9,
        "evergreen": False,
        "season": "spring",
        "rings": [],
        "place": [0, 0],
        "leaves": [],
    }


@pytest.mark.parametrize("tree", [OAK, Tree("fir", 9)])
def test_build_undoes_describe_through_json(tree):
    assert build(json.loads(json.dumps(describe(tree))), TABLE) == tree


def test_a_prior_is_built_from_toml():
    text = """
    type = "Mixture"
    weights = [1, 3]
    [[priors]]
    type = "GaussianProcess"
    lengthscale = 1
    inputs = {type = "NormalInputs", scale = 2}
    [[priors]]
    type = "LinearRegression"
    noise = 0.5
    """
    built = build(tomllib.loads(text), PRIORS)
    assert isinstance(built, Mixture)
    assert built.weights == (1.0, 3.0)
    assert built.priors[0] == GaussianProcess(lengthscale=1.0, inputs=NormalInputs(scale=2.0))
    assert isinstance(built.priors[0].lengthscale, float)


@dataclass(frozen=True)
class Branch:
    leaf: Leaf
    other: Leaf | None = None


@dataclass(frozen=True)
class Fork:
    either: Leaf | Tree


def test_a_part_whose_field_holds_one_type_may_leave_its_type_out():
    assert build({"type": "Branch", "leaf": {"size": 3}}, {**TABLE, "Branch": Branch}) == Branch(Leaf(3.0))
    optional = build({"type": "Branch", "leaf": {}, "other": {"size": 3}}, {**TABLE, "Branch": Branch})
    assert optional == Branch(Leaf(), Leaf(3.0))
    with pytest.raises(RecipeError, match="either: expected Leaf or Tree; got {'size': 3}"):
        build({"type": "Fork", "either": {"size": 3}}, {**TABLE, "Fork": Fork})


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"name": "oak"}, "prior: a 'type' is missing; add one of: GaussianProcess, Leaf, Tree"),
        ({"type": "Tre"}, "prior: unknown type 'Tre'. Did you mean 'Tree'?"),
        ({"type": "Zebra"}, "unknown type 'Zebra'. Choose one of: GaussianProcess, Leaf, Tree"),
        ({"type": 3}, "unknown type 3"),
        ({"type": "Leaf", "sise": 1}, "prior: Leaf has no field 'sise'. Did you mean 'size'?"),
        ({"type": "Tree", "derived": 1.0}, "Tree has no field 'derived'"),
        ({"type": "Tree", "name": "oak"}, "prior: Tree needs the field 'height'"),
        ({"type": "Tree", "name": "oak", "height": 1.5}, "prior.height: expected a whole number; got 1.5"),
        ({"type": "Tree", "name": "oak", "height": True}, "prior.height: expected a whole number; got True"),
        ({"type": "Tree", "name": 1, "height": 1}, "prior.name: expected text; got 1"),
        ({"type": "Tree", "name": "a", "height": 1, "evergreen": 1}, "prior.evergreen: expected true or false; got 1"),
        ({"type": "Tree", "name": "a", "height": 1, "age": "x"}, "prior.age: expected a number or nothing; got 'x'"),
        ({"type": "Tree", "name": "a", "height": 1, "season": "x"}, "prior.season: expected one of 'spring', 'autumn'"),
        ({"type": "Tree", "name": "a", "height": 1, "rings": [1, "x"]}, r"prior.rings\[1\]: expected a number"),
        ({"type": "Tree", "name": "a", "height": 1, "rings": 1}, r"prior.rings: expected tuple\[float, ...\]; got 1"),
        ({"type": "Tree", "name": "a", "height": 1, "place": [1]}, r"prior.place: expected tuple\[int, int\]"),
        ({"type": "Tree", "name": "a", "height": 1, "leaves": [{"type": "Laef"}]}, r"prior.leaves\[0\]: unknown type"),
        ({"type": "Tree", "name": "a", "height": 1, "leaves": [3]}, r"prior.leaves\[0\]: expected Leaf; got 3"),
        ({"type": "Tree", "name": "a", "height": -1}, "prior: Tree: height must be at least 0"),
        ({"type": "GaussianProcess", "inputs": {"type": "Leaf"}}, "prior.inputs: expected Inputs; got Leaf"),
    ],
)
def test_a_wrong_description_says_where_and_what(description, message):
    with pytest.raises(RecipeError, match=message):
        build(description, TABLE, where="prior")


def test_a_function_is_described_but_not_built():
    def waves(x):
        """Waves."""
        return x[..., 0]

    description = describe(prior(num_features=1, outcome=Classes(3))(waves))
    assert description == {
        "type": "FunctionPrior",
        "num_features": 1,
        "inputs": describe(UniformInputs()),
        "outcome": {"type": "Classes", "count": 3},
        "name": "waves",
        "doc": "Waves.",
    }
    with pytest.raises(RecipeError, match=r"does not hold its function.*Pass the object itself \(waves\)"):
        build(description, PRIORS)


def test_only_dataclasses_are_described():
    for thing in (object(), GaussianProcess, 3):
        with pytest.raises(RecipeError, match="only dataclasses can be described"):
            describe(thing)
