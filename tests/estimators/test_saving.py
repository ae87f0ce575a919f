"""Fitted estimators as folders, and by joblib as scikit-learn users know it."""

import io
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from estimators.tiny_models import PADDED_LABELS, PADDED_REALS, random_model
from sklearn.exceptions import NotFittedError

import priorfit as pf
from priorfit.errors import CheckpointError
from priorfit.estimators import PFNClassifier, PFNRegressor, load_estimator
from priorfit.network import ModelCard

pytestmark = pytest.mark.filterwarnings(
    "ignore::priorfit.errors.TableWarning", "ignore::priorfit.errors.OutsideTrainingWarning"
)


def frame(rows: int = 40) -> pd.DataFrame:
    """Numbers, text and missing values."""
    random = np.random.RandomState(0)
    table = pd.DataFrame({"size": random.rand(rows), "kind": random.choice(["x", "y", "z"], rows)})
    table["old"] = random.rand(rows) > 0.5
    table.loc[3, "size"] = np.nan
    return table


def labels(table: pd.DataFrame) -> np.ndarray:
    return np.where(table["old"], "high", "low")


def estimators() -> dict[str, object]:
    small = random_model(PADDED_REALS)
    few = random_model(PADDED_LABELS)
    few.card = ModelCard(trained_context=(0, 12))
    return {
        "released": PFNClassifier("tabular-binary-small", random_state=np.random.RandomState(0)),
        "of tables": PFNClassifier(),
        "own": PFNRegressor(small),
        "permuted": PFNClassifier(few, n_estimators=3, too_many_rows="subsample"),
        "local": PFNClassifier(few, n_estimators=2, too_many_rows="local"),
    }


def answer(estimator: object, table: object) -> np.ndarray:
    return estimator.predict_proba(table) if isinstance(estimator, PFNClassifier) else estimator.predict(table)


@pytest.mark.parametrize("name", list(estimators()))
def test_a_folder_and_a_pickle_give_the_same_answers_to_the_bit(name: str, tmp_path: Path):
    estimator, table = estimators()[name], frame()
    target = labels(table) if isinstance(estimator, PFNClassifier) else table["size"].fillna(0.0)
    estimator.fit(table, target)
    expected = answer(estimator, table[:7])
    estimator.save(tmp_path / "fit")
    loaded = load_estimator(tmp_path / "fit")
    np.testing.assert_array_equal(answer(loaded, table[:7]), expected)
    assert type(loaded) is type(estimator) and list(loaded.feature_names_in_) == ["size", "kind", "old"]
    if isinstance(estimator, PFNClassifier):
        np.testing.assert_array_equal(loaded.predict(table[:7]), estimator.predict(table[:7]))
    file = io.BytesIO()
    joblib.dump(loaded, file)
    file.seek(0)
    np.testing.assert_array_equal(answer(joblib.load(file), table[:7]), expected)
    again = loaded.fit(table, target)  # with the same model and arguments
    np.testing.assert_array_equal(answer(again, table[:7]), expected)


def test_the_weights_of_a_released_model_are_not_in_the_folder(tmp_path: Path):
    x = np.random.RandomState(0).rand(20, 2)
    PFNRegressor("tabular-regression-small").fit(x, x[:, 0]).save(tmp_path / "fit")
    assert not (tmp_path / "fit" / "model.safetensors").exists()
    assert load_estimator(tmp_path / "fit").model == "tabular-regression-small"


def test_what_is_no_fitted_estimator_is_refused(tmp_path: Path):
    with pytest.raises(NotFittedError):
        PFNRegressor().save(tmp_path / "fit")
    assert not (tmp_path / "fit").exists()
    model = random_model(PADDED_REALS)
    model.save(tmp_path / "model")
    with pytest.raises(CheckpointError, match="holds a model or a training, not an estimator"):
        load_estimator(tmp_path / "model")
    x = np.random.RandomState(0).rand(9, 2)
    model.condition(x, x[:, 0]).save(tmp_path / "posterior")
    with pytest.raises(CheckpointError, match=r"read it by priorfit\.load_posterior"):
        load_estimator(tmp_path / "posterior")
    PFNRegressor(model).fit(x, x[:, 0]).save(tmp_path / "fit")
    with pytest.raises(CheckpointError, match=r"read it by priorfit\.estimators\.load_estimator"):
        pf.load_posterior(tmp_path / "fit")
