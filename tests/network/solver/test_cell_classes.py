"""Cells of programs with laws of classes, beside numerical integration."""

import pytest
import torch
from network.solver.programs import untrained
from torch.distributions import Bernoulli, Categorical, Uniform

import priorfit as pf
from priorfit.errors import InputError
from priorfit.network import CellSolver, NetworkSettings, NormalHead
from priorfit.seeding import seeded
from priorfit.training.defaults import suggested_network


@pf.prior(num_features=1, place=Uniform(0.0, 1.0))
def thresholds(x, place):
    return Bernoulli(logits=12 * (x[..., 0] - place))


@pf.prior(num_features=1, place=Uniform(0.2, 0.8))
def grades(x, place):
    own = 10 * (x[..., 0] - place)
    return Categorical(logits=torch.stack([-own, 0 * own, own - 1], dim=-1))


@pytest.mark.parametrize(("prior", "low", "high"), [(thresholds, 0.0, 1.0), (grades, 0.2, 0.8)], ids=["two", "three"])
@pytest.mark.parametrize("size", [0, 1, 4, 11])
def test_class_probabilities_and_latents_are_those_of_numerical_integration(prior, low: float, high: float, size: int):
    found = suggested_network(prior)
    assert found is not None and isinstance(found.solver, CellSolver)
    posterior_of, values = untrained(prior, found.solver), torch.linspace(low, high, 2_000)[:, None]
    with seeded(size):
        tasks = prior.sample(100, size + 6).split(size)
    posterior = posterior_of.condition(tasks.context_x, tasks.context_y)
    probs, means = posterior.predict(tasks.query_x).probs.double(), posterior.latents["place"].mean
    for row in range(100):
        x, y, query = tasks.context_x[row], tasks.context_y[row], tasks.query_x[row]
        weights = torch.full((2_000,), 1 / 2_000).double()
        if size:
            told = prior.log_likelihood(x.expand(2_000, -1, -1), y.expand(2_000, -1), {"place": values})
            weights = told.double().softmax(0)
        law = prior.law(query.expand(2_000, -1, -1), {"place": values})
        each = law.probs if isinstance(law, Categorical) else torch.stack([1 - law.probs, law.probs], dim=-1)
        exact = (weights[:, None, None] * each.double()).sum(0)
        assert float((exact * (exact.log() - probs[row].log())).sum(-1).mean()) < 2e-3
        torch.testing.assert_close(means[row].double(), (weights * values[:, 0]).sum(), atol=0.02, rtol=0)


def test_a_law_of_other_classes_than_the_settings_say_is_refused():
    with pytest.raises(InputError, match="the law of grades has 2 log odds of classes; got branches = 1"):
        untrained(grades, CellSolver(8, 1))


def test_a_head_over_reals_is_refused():
    with pytest.raises(InputError, match="NormalHead"):
        network = NetworkSettings(solver=CellSolver(4, 1), output=NormalHead())
        pf.fit(thresholds, num_points=5, steps=1, progress=False, network=network)
