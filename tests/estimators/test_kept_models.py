"""A model is read once, and nobody can change that of another."""

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from estimators.tiny_models import PADDED_REALS, random_model
from sklearn.base import clone

from priorfit.errors import CheckpointError
from priorfit.estimators import PFNRegressor, kept_models
from priorfit.estimators.kept_models import kept_model, own_copy

X = np.random.RandomState(0).randn(20, 3)
Y = X @ [1.0, 2.0, 3.0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random_model(PADDED_REALS).save(tmp_path / "mine")
    return tmp_path / "mine"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that are read, in order."""
    found: list[Path] = []
    kept_models._read.cache_clear()
    load = kept_models.load
    monkeypatch.setattr(kept_models, "load", lambda path: found.append(path) or load(path))
    return found


def test_a_model_is_read_once_for_many_fits(folder: Path, reads: list[Path]):
    answers = [PFNRegressor(each).fit(X, Y).predict(X) for each in (folder, str(folder), folder)]
    assert reads == [folder.resolve()]
    np.testing.assert_array_equal(answers[0], answers[2])


def test_a_changed_folder_is_read_anew(folder: Path, reads: list[Path]):
    before = PFNRegressor(folder).fit(X, Y).predict(X)
    other = random_model(PADDED_REALS)
    with torch.no_grad():
        other.decoder.bias.add_(0.3)
    other.save(folder)
    after = PFNRegressor(folder).fit(X, Y).predict(X)
    assert len(reads) == 2
    assert not np.array_equal(before, after)
    np.testing.assert_array_equal(after, PFNRegressor(other).fit(X, Y).predict(X))


def test_a_folder_that_was_spoilt_since_is_refused(folder: Path):
    PFNRegressor(folder).fit(X, Y)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(CheckpointError):
        PFNRegressor(folder).fit(X, Y)


def test_a_file_whose_time_is_set_back_is_not_mistaken_for_the_one_before(folder: Path, reads: list[Path]):
    PFNRegressor(folder).fit(X, Y)
    times = (folder / "config.json").stat()
    random_model(PADDED_REALS).save(folder)
    for file in folder.iterdir():
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    PFNRegressor(folder).fit(X, Y)
    assert len(reads) == 2


def test_what_one_estimator_does_to_its_model_no_other_sees(folder: Path):
    first, second = (PFNRegressor(folder).fit(X, Y) for _ in range(2))
    expected = second.predict(X)
    with torch.no_grad():
        for weight in first.model_.parameters():
            weight.add_(1.0)
    first.model_.double()
    np.testing.assert_array_equal(second.predict(X), expected)
    np.testing.assert_array_equal(PFNRegressor(folder).fit(X, Y).predict(X), expected)


def test_threads_share_one_reading(folder: Path, reads: list[Path]):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: PFNRegressor(folder).fit(X, Y).predict(X), range(16)))
    assert len(reads) == 1
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])


def test_clones_and_pickles_answer_the_same(folder: Path):
    fitted = PFNRegressor(folder).fit(X, Y)
    np.testing.assert_array_equal(clone(fitted).fit(X, Y).predict(X), fitted.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))  # noqa: S301


def test_a_copy_shares_tensors_where_its_model_does_and_none_with_it():
    tied = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 3, bias=False))
    tied[2].weight = tied[0].weight
    copied = own_copy(tied)
    assert copied[2].weight is copied[0].weight is not tied[0].weight
    assert {name: value.tolist() for name, value in copied.state_dict().items()} == {
        name: value.tolist() for name, value in tied.state_dict().items()
    }
    assert copied[0].weight.requires_grad
    assert copied[1].running_mean is not tied[1].running_mean


def test_random_generators_keep_their_state(folder: Path):
    kept_models._read.cache_clear()
    before = torch.get_rng_state()
    kept_model(folder)
    assert torch.equal(torch.get_rng_state(), before)
