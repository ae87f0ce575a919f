import pytest
import torch

import priorfit as pf
from priorfit.errors import UnknownModelError
from priorfit.network import load_pfn
from priorfit.zoo import load, names
from priorfit.zoo.catalogue import FOLDER


@pytest.mark.parametrize("name", names())
def test_every_released_model_is_small_and_finite(name: str):
    """Its answers are compared with its card in tests/benchmarks/test_cards.py."""
    assert sum(file.stat().st_size for file in (FOLDER / name).iterdir()) < 12e6
    assert all(weight.isfinite().all() and weight.dtype == torch.float32 for weight in load(name).parameters())


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(UnknownModelError, match="Did you mean 'gp-rbf-1d'"):
        load("gp-rfb-1d")


def test_a_folder_of_ones_own_is_loaded_by_its_path(tmp_path):
    model = load("gp-rbf-1d")
    model.save(tmp_path / "copy")
    for one, other in zip(model.parameters(), load_pfn(tmp_path / "copy").parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_folder_without_a_model_is_explained(tmp_path):
    with pytest.raises(pf.errors.CheckpointError, match="config.json"):
        load(tmp_path)
