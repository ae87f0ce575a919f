from dataclasses import dataclass, replace
from itertools import product

import pytest
import torch
from forked import SERVER
from tiny_recipes import tiny_recipe
from torch.distributions import Normal

from priorfit.data import Datasets, Real
from priorfit.errors import InputError, PriorError
from priorfit.priors import Prior, UniformInputs
from priorfit.priors.function import prior
from priorfit.training import DataSettings, RunOptions, train
from priorfit.training.batches import draw_batch
from priorfit.training.workers import batch_source, is_sendable


@dataclass(frozen=True)
class Broken(Prior):
    num_features: int = 1
    inputs: UniformInputs = UniformInputs()
    outcome = Real()

    def draw(self, x: torch.Tensor) -> Datasets:
        raise PriorError("the simulator broke down.")


def test_workers_draw_what_the_main_process_would():
    recipe = tiny_recipe(data=DataSettings(batch_size=4, micro_batches=3, targets="expected"))
    with batch_source(recipe, 2, first_step=5, micro_batches=range(1, 3)) as source:
        for step, micro_batch in product(range(5, 10), (1, 2)):
            ours, theirs = source(step, micro_batch), draw_batch(recipe, step, micro_batch)
            assert torch.equal(ours.context_x, theirs.context_x) and torch.equal(ours.query_y, theirs.query_y)
            assert isinstance(ours.query_law, Normal) and isinstance(theirs.query_law, Normal)
            assert torch.equal(ours.query_law.loc, theirs.query_law.loc)


@pytest.fixture
def ready_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that come from a process with torch in it; the first test has them as users do."""
    monkeypatch.setattr("priorfit.training.workers.get_context", lambda _: SERVER)


@pytest.mark.usefixtures("ready_workers")
def test_a_run_with_workers_ends_in_the_same_weights():
    runs = [train(tiny_recipe(steps=3), RunOptions(workers=workers)) for workers in (0, 1)]
    for name, value in runs[0].state_dict().items():
        assert torch.equal(value, runs[1].state_dict()[name]), name


@pytest.mark.usefixtures("ready_workers")
def test_an_error_of_the_prior_reaches_the_caller():
    with (
        batch_source(replace(tiny_recipe(), prior=Broken()), 1, 0, range(1)) as source,
        pytest.raises(PriorError, match="the simulator broke down"),
    ):
        source(0, 0)


def test_a_prior_that_does_not_pickle_is_drawn_in_the_main_process():
    noise = prior(num_features=1)(lambda x: torch.randn(x.shape[:2]))
    recipe = tiny_recipe(prior=noise)
    with (
        pytest.warns(UserWarning, match="cannot be sent to background workers"),
        batch_source(recipe, 1, 0, range(1)) as source,
    ):
        assert torch.equal(source(0, 0).query_y, draw_batch(recipe, 0, 0).query_y)


def test_a_negative_number_of_workers_is_refused():
    with pytest.raises(InputError, match="workers must be at least 0; got -1"):
        train(tiny_recipe(), RunOptions(workers=-1))


@prior(num_features=1, slope=Normal(0.0, 1.0))
def slopes(x, slope):
    """Lines with named latents, which workers find by their name."""
    return Normal(slope * x[..., 0], 0.1)


def test_a_decorated_prior_is_sent_to_workers_without_a_warning():
    assert is_sendable(tiny_recipe(prior=slopes))
