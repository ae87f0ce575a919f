import pytest
import torch

from priorfit.baselines import HyperGPOracle
from priorfit.priors import Gamma, HyperGaussianProcess
from priorfit.priors.hyper_posterior import NOISE, posterior_answers, proposed, weighted
from priorfit.seeding import seeded

PRIOR = HyperGaussianProcess()
CONTEXTS = {
    "none": ((), ()),
    "drawn by the prior": ((0.1, 0.4, 0.8), (1.0, -2.0, 3.0)),
    "one height": ((0.1, 0.3, 0.5, 0.7), (5.0, 5.0, 5.0, 5.0)),
    "unlike heights side by side": ((0.4, 0.41, 0.43, 0.7), (-4.0, 6.0, 0.0, 2.0)),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_the_answers_are_those_of_the_posterior_whatever_the_context(name: str):
    x, y = (torch.tensor(part)[None] for part in CONTEXTS[name])
    place = torch.tensor([[[0.55]]])
    with seeded(0):
        parts = [posterior_answers(PRIOR, (x[..., None], y), place.expand(1, 2_000, 1)) for _ in range(4)]
    location, scale = (torch.cat([getattr(part, field)[0] for part in parts]).double() for field in ("loc", "scale"))
    truth = HyperGPOracle(PRIOR, 20_000).condition(x[..., None], y).predict(place)
    values = truth.mean[0, 0] + truth.stddev[0, 0] * torch.linspace(-2, 2, 9)
    found = torch.special.ndtr((values[:, None] - location) / scale).mean(-1)
    torch.testing.assert_close(found, truth.cdf(values.double()[:, None, None])[:, 0, 0], rtol=0, atol=0.02)


def test_the_weights_turn_proposals_into_the_prior_where_nothing_is_known():
    with seeded(1):
        draws, log_weights = weighted(PRIOR, (torch.zeros(2, 0, 1), torch.zeros(2, 0)), 20_000)
    weights = log_weights.exp()
    assert weights.sum(-1).tolist() == pytest.approx([1.0, 1.0])
    for values, law in ((draws.lengthscale, PRIOR.lengthscale_prior), (draws.outputscale, PRIOR.outputscale_prior)):
        assert (weights[0] @ values).item() == pytest.approx(law.concentration / law.rate, rel=0.04)


def test_rare_noise_is_proposed_far_more_often_than_it_is_drawn():
    law = Gamma(1e-4, 1.0)
    with seeded(2):
        draws, log_ratio = proposed(law, NOISE, 50_000)
    matters = draws > 1e-6
    assert matters.double().mean() > 0.2
    expected = 1e-4 * 13.24  # the integral of the density from 1e-6 on: 1e-4 times the exponential integral E1(1e-6)
    assert (log_ratio.exp() * matters).mean().item() == pytest.approx(expected, rel=0.05)
