import pytest
import torch

from priorfit.errors import InputError
from priorfit.priors import ManyFunctions, NormalInputs
from priorfit.priors.function_kinds import KINDS
from priorfit.seeding import seeded


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_gives_each_dataset_its_own_function_of_about_unit_size(kind: str):
    with seeded(0):
        values = KINDS[kind](torch.linspace(0, 1, 64).expand(2_000, -1))
    assert values.shape == (2_000, 64) and values.isfinite().all()
    assert 0.2 < values.std() < 2.5
    assert 0.15 < values.std(1).mean() < 1.5  # within a dataset
    assert (values[:-1] != values[1:]).any(1).float().mean() > 0.99


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_depends_on_its_own_place_alone(kind: str):
    t = torch.rand(50, 12, generator=torch.Generator().manual_seed(1))
    order = torch.randperm(12, generator=torch.Generator().manual_seed(2))
    with seeded(3):
        whole = KINDS[kind](t)
    with seeded(3):
        torch.testing.assert_close(KINDS[kind](t[:, order]), whole[:, order])


@pytest.mark.parametrize("num_features", [1, 2, 5])
def test_datasets_differ_in_noise_and_in_tails(num_features: int):
    prior = ManyFunctions(num_features=num_features)
    x = torch.rand(4_000, 1, num_features, generator=torch.Generator().manual_seed(0)).expand(-1, 40, -1)
    with seeded(1):
        y = prior.draw(x).y  # forty observations at one place
    spread = y.quantile(torch.tensor([0.25, 0.75]), dim=1).diff(dim=0)[0]
    assert spread.quantile(0.1) < 0.03 and spread.quantile(0.9) > 0.4
    assert y.isfinite().all() and 0.7 < y.std() < 2.5


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="at least one feature"):
        ManyFunctions(num_features=0)
    with pytest.raises(InputError, match="inputs between 0 and 1"):
        ManyFunctions(inputs=NormalInputs())
