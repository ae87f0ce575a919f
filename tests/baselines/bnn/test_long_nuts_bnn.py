import pytest
import torch

from priorfit.baselines import CollapsedBNN
from priorfit.baselines.bnn.long_nuts_bnn import long_chains, long_run
from priorfit.baselines.bnn.nuts_bnn import NutsBNN
from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.metrics import divergence
from priorfit.predictor import predict
from priorfit.priors import BayesianNetwork
from priorfit.priors.bayesian_network import SMALL
from priorfit.seeding import seeded

TINY = BayesianNetwork(num_features=1, hidden=(2,), outcome=Classes(2))


def tasks(batch_size: int):
    with seeded(0):
        return TINY.sample(batch_size, 16).split(6)


def test_it_is_the_truth_where_the_truth_is_known():
    batch = tasks(2)
    nuts = NutsBNN(TINY, num_samples=100, num_warmup=100, num_chains=4)
    posterior = long_run(nuts, batch, lengths=(200, 2_000), most_r_hat=1.01)
    truth = predict(CollapsedBNN(TINY, 2_048), batch)
    assert divergence(truth, posterior.predict(batch.query_x)).mean() < 0.001
    for index, chains in enumerate(posterior.chains):
        assert chains.samples.shape[0] == 4
        is_short = chains.samples.shape[1] == 200
        assert not is_short or posterior.r_hat(batch.query_x)[index].max() <= 1.01


@pytest.mark.parametrize(("most_r_hat", "length"), [(1e9, 4), (0.0, 6)])
def test_it_is_as_long_as_the_chains_need_to_agree_and_no_longer(most_r_hat: float, length: int):
    nuts = NutsBNN(TINY, num_samples=1, num_warmup=2, backend="pyro")
    posterior = long_run(nuts, tasks(2), lengths=(4, 6), most_r_hat=most_r_hat)
    assert [chains.samples.shape[1] for chains in posterior.chains] == [length, length]
    assert posterior.predict(tasks(2).query_x).probs.shape == (2, 10, 2)


def test_each_dataset_is_judged_by_its_own_queries(monkeypatch: pytest.MonkeyPatch):
    from priorfit.baselines.bnn.nuts_bnn import NutsBNNPosterior

    asked = []

    def r_hat(_, query_x: torch.Tensor) -> torch.Tensor:
        asked.append(query_x)
        return torch.ones(query_x.shape[:-1])

    monkeypatch.setattr(NutsBNNPosterior, "r_hat", r_hat)
    batch = tasks(3)
    long_run(NutsBNN(TINY, 1, backend="pyro"), batch, lengths=(2,))
    torch.testing.assert_close(torch.stack(asked), batch.query_x)


def test_the_reference_has_four_chains_of_numpyro():
    chains = long_chains(SMALL, seed=3)
    assert (chains.num_chains, chains.num_warmup, chains.backend, chains.seed) == (4, 1_000, "numpyro", 3)


def test_it_needs_a_length():
    with pytest.raises(InputError, match="at least one length"):
        long_run(NutsBNN(TINY, 1, backend="pyro"), tasks(1), lengths=())
