from pathlib import Path

import numpy as np
import pytest
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, random_model

from priorfit.data import Classes, Real
from priorfit.errors import UnknownModelError
from priorfit.estimators import PFNClassifier, PFNRegressor
from priorfit.estimators.models import CLASSES, REGRESSION
from priorfit.training import read_recipe
from priorfit.zoo import catalogue

RECIPES = Path(__file__).parents[2] / "recipes"
X = np.random.RandomState(0).randn(12, 3)


@pytest.mark.parametrize("estimator, name", [(PFNRegressor, REGRESSION), (PFNClassifier, CLASSES)])
def test_without_its_default_model_an_estimator_says_how_to_get_one(estimator, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)  # a version without released models
    with pytest.raises(UnknownModelError, match=f"does not come with this version.*priorfit train recipes/{name}.toml"):
        estimator().fit(X, np.arange(12) % 2)


@pytest.mark.parametrize(
    "estimator, name, prior", [(PFNRegressor, REGRESSION, PADDED_REALS), (PFNClassifier, CLASSES, PADDED_LABELS)]
)
def test_the_default_model_is_found_by_its_name(estimator, name, prior, tmp_path, monkeypatch):
    random_model(prior).save(tmp_path / name)
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    assert estimator().fit(X, np.arange(12) % 2).predict(X).shape == (12,)


@pytest.mark.parametrize("name, outcome", [(REGRESSION, Real()), (CLASSES, Classes(10))])
def test_the_recipes_of_the_default_models_are_for_tables_of_free_units(name, outcome):
    recipe = read_recipe(RECIPES / f"{name}.toml")
    assert (recipe.units, recipe.prior.num_features, recipe.num_points) == ("free", 100, 501)
    assert recipe.prior.outcome == outcome and recipe.prior.draws_missing
