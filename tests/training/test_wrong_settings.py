"""Every setting of a training that people get wrong is refused by its name, before anything is drawn."""

from pathlib import Path

import pytest
import torch
from tiny_recipes import TINY_TOML, tiny_recipe

import priorfit as pf
from priorfit.errors import InputError, PriorfitError, RecipeError
from priorfit.network import Problem
from priorfit.training import Budget, DataSettings, OptimiserSettings, RunOptions, read_recipe, recipe_from
from priorfit.training.recipe import file_name

pytestmark = pytest.mark.usefixtures("as_users_run_it")
GP = pf.GaussianProcess()


def wave(**fields):
    return pf.prior(**fields)(lambda x: x[..., 0])


WRONG = {
    "fit steps": (lambda: pf.fit(GP, steps=1.5), r"steps of a Budget must be a whole number or nothing; got 1\.5"),
    "fit steps text": (lambda: pf.fit(GP, steps="many"), "steps of a Budget"),
    "fit negative steps": (lambda: pf.fit(GP, steps=-1), "exactly one positive value"),
    "fit steps and minutes": (lambda: pf.fit(GP, steps=1, minutes=1), "exactly one positive value"),
    "fit minutes": (lambda: pf.fit(GP, minutes=-1.0), "exactly one positive value"),
    "fit nan minutes": (lambda: pf.fit(GP, minutes=float("nan")), "minutes of a Budget must be finite; got nan"),
    "fit endless minutes": (lambda: pf.fit(GP, minutes=float("inf")), "minutes of a Budget must be finite; got inf"),
    "fit minutes text": (lambda: pf.fit(GP, minutes="2"), "minutes of a Budget must be a number or nothing; got '2'"),
    "fit num_points": (lambda: pf.fit(GP, num_points=1.5), r"num_points of a Recipe .* whole number; got 1\.5"),
    "fit no points": (lambda: pf.fit(GP, num_points=0), "num_points must be at least 1; got 0"),
    "fit seed": (lambda: pf.fit(GP, seed=1.5), r"seed of a Recipe must be a whole number; got 1\.5"),
    "fit negative seed": (lambda: pf.fit(GP, seed=-1), "seed must be at least 0; got -1"),
    "fit targets": (lambda: pf.fit(GP, targets="expectd"), "'expectd'. Did you mean 'expected'"),
    "fit network": (lambda: pf.fit(GP, network="large"), "NetworkSettings; got 'large'"),
    "fit prior": (lambda: pf.fit("GaussianProcess"), "fit takes a prior; got str"),
    "fit prior class": (lambda: pf.fit(pf.GaussianProcess), "fit takes a prior; got ABCMeta"),
    "train a path": (lambda: pf.train("recipe.toml"), "train takes a Recipe; got 'recipe.toml'. Read one"),
    "train from a name": (lambda: pf.train(tiny_recipe(), start="gp-rbf-1d"), "starts from a model; got 'gp-rbf-1d'"),
    "recipe of text": (lambda: recipe_from("steps = 1"), "described by a dict"),
    "fit device": (lambda: pf.fit(GP, steps=1, device=["cpu"]), "device of a RunOptions must be text or nothing"),
    "fit resume": (lambda: pf.fit(GP, steps=1, resume="yes"), "resume of a RunOptions must be true or false"),
    "workers": (lambda: RunOptions(workers=1.5), "workers of a RunOptions must be a whole number"),
    "datasets": (lambda: Budget(datasets=2.5), "datasets of a Budget"),
    "batch size": (lambda: DataSettings(batch_size=2.5), "batch_size of a DataSettings"),
    "context sizes": (lambda: DataSettings(context_sizes="uniform"), "context_sizes of a DataSettings"),
    "same_n": (lambda: DataSettings(same_n=1), "same_n of a DataSettings must be true or false; got 1"),
    "learning rate": (lambda: OptimiserSettings(learning_rate=float("nan")), "learning_rate .* finite; got nan"),
    "learning rate text": (lambda: OptimiserSettings(learning_rate="1e-3"), "learning_rate .* number; got '1e-3'"),
    "method": (lambda: OptimiserSettings(method="adm"), "Did you mean 'adam'"),
    "width": (lambda: pf.NetworkSettings(width=64.0), r"width of a NetworkSettings .* got 64\.0"),
    "head": (lambda: pf.NetworkSettings(output="normal"), "output of a NetworkSettings"),
    "components": (lambda: pf.NetworkSettings(output=pf.NormalMixtureHead(1.5)), "components of a NormalMixtureHead"),
    "buckets": (lambda: pf.NetworkSettings(output=pf.RiemannHead("500")), "num_buckets of a RiemannHead"),
    "features of a task": (lambda: Problem(1.5, pf.Real()), "num_features of a Problem"),
    "outcome of a task": (lambda: Problem(1, "real"), "outcome of a Problem must be Real or Classes; got 'real'"),
    "prior features": (lambda: wave(num_features=1.5), "num_features must be a whole number"),
    "prior features text": (lambda: wave(num_features="1"), "num_features must be a whole number"),
    "prior outcome": (lambda: wave(num_features=1, outcome="classes"), "outcome must be Real"),
    "prior outcome class": (lambda: wave(num_features=1, outcome=pf.Classes), "outcome must be Real"),
    "prior inputs": (lambda: wave(num_features=1, inputs=(0, 1)), "inputs must be a distribution"),
    "classes": (lambda: pf.Classes(2.5), "count of a Classes must be a whole number"),
    "gp features": (lambda: pf.GaussianProcess(num_features=1.5), "num_features of a GaussianProcess"),
    "gp lengthscale": (lambda: pf.GaussianProcess(lengthscale="0.3"), "lengthscale of a GaussianProcess"),
    "gp inputs": (lambda: pf.GaussianProcess(inputs=pf.UniformInputs), "inputs of a GaussianProcess"),
    "hyper gp features": (lambda: pf.HyperGaussianProcess(num_features=1.5), "num_features of a HyperGaussianProcess"),
    "linear features": (lambda: pf.LinearRegression(num_features=1.5), "num_features of a LinearRegression"),
    "bnn features": (lambda: pf.BayesianNetwork(num_features=1.5), "num_features of a BayesianNetwork"),
    "bnn hidden": (lambda: pf.BayesianNetwork(hidden=5), "hidden of a BayesianNetwork"),
    "bnn outcome": (lambda: pf.BayesianNetwork(outcome="classes"), "outcome of a BayesianNetwork"),
    "coin features": (lambda: pf.BetaBernoulli(num_features=1.5), "num_features of a BetaBernoulli"),
    "padded features": (lambda: pf.PaddedFeatures(GP, 2.5), "max_features of a PaddedFeatures"),
    "mixture": (lambda: pf.Mixture(GP), "priors of a Mixture"),
    "wrapped": (lambda: pf.Standardized("gp"), "prior of a Standardized must be Prior; got 'gp'"),
    "strokes": (lambda: pf.Strokes(num_ways=2.5), "num_ways of a Strokes"),
}


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_setting_is_refused_by_its_name(call, message):
    with pytest.raises(PriorfitError, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.complex64, torch.float8_e4m3fn, "float16"])
def test_weights_are_saved_in_a_floating_point_dtype_or_not_at_all(dtype, tmp_path: Path):
    model = pf.PFN(pf.NetworkSettings(width=8, layers=1, attention_heads=2), Problem(1, pf.Real(), (0.0, 1.0)))
    with pytest.raises(InputError, match=r"dtype must be one of torch\.float16, .*; got"):
        model.save(tmp_path / "model", dtype=dtype)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [1e10, float("nan")])
def test_weights_that_are_not_finite_in_their_file_are_not_saved(value, tmp_path: Path):
    model = pf.PFN(pf.NetworkSettings(width=8, layers=1, attention_heads=2), Problem(1, pf.Real(), (0.0, 1.0)))
    with torch.no_grad():
        model.decoder.bias[0] = value
    with pytest.raises(InputError, match=r"decoder\.bias .* not finite in torch\.float16"):
        model.save(tmp_path / "model", dtype=torch.float16)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../../evil", "/tmp/evil", "a/b", "a\\b", "", ".", "..", " ", ".hidden", "nul", "a\0b"]
)
def test_the_name_of_a_recipe_is_no_path(name):
    with pytest.raises(RecipeError, match="name of a recipe becomes that of a folder"):
        tiny_recipe(name=name)
    assert Path(file_name(name)).name == file_name(name) == file_name(file_name(name))


@pytest.mark.parametrize("name", ["gp-rbf-1d", "my prior", "ein Gauß-Prozess", "v2.1+x", "x" * 100])
def test_a_plain_name_is_kept(name):
    assert tiny_recipe(name=name).name == name


def test_fit_names_its_recipe_by_the_prior_as_far_as_a_folder_can_have_that_name():
    model = pf.fit(pf.prior(num_features=1, name="a/b: c")(lambda x: torch.randn(x.shape[:2])), steps=1, progress=False)
    assert model.card.name == "a_b_ c" and model.card.prior["name"] == "a/b: c"


WHOLE = TINY_TOML.format(steps=8, micro_batches=1)
FILES = {
    "binary": (b"\xff\xfe\x00\x01", "is no text, so it is no recipe"),
    "nested": (b"a = " + b"[" * 50_000 + b"]" * 50_000, "nested too deeply"),
    "nan": (WHOLE.replace("steps = 8", "minutes = nan").encode(), "minutes: expected a number or nothing; got nan"),
    "path": (WHOLE.replace('"tiny"', '"../../evil"').encode(), "becomes that of a folder.*'../../evil'"),
    "nested settings": (WHOLE.replace('"GaussianProcess"', "['x']").encode(), "unknown type"),
    "a type as number": (WHOLE.replace('"GaussianProcess"', "3").encode(), "unknown type 3"),
    "budget as number": (WHOLE.replace("[budget]\nsteps = 8", "budget = 8").encode(), "budget: expected Budget; got 8"),
}


@pytest.mark.parametrize(("content", "message"), FILES.values(), ids=FILES.keys())
def test_a_file_that_is_no_recipe_is_explained(content: bytes, message: str, tmp_path: Path):
    file = tmp_path / "recipe.toml"
    file.write_bytes(content)
    with pytest.raises(RecipeError, match=message):
        read_recipe(file)


def test_a_folder_in_place_of_a_recipe_is_explained(tmp_path: Path):
    with pytest.raises(RecipeError, match="cannot be read as a recipe"):
        read_recipe(tmp_path)


def test_more_points_than_a_context_size_can_be_drawn_from_are_refused():
    with pytest.raises(RecipeError, match="num_points must be at most 16,777,216; got 1000000000000"):
        tiny_recipe(num_points=10**12)
