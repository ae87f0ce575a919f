import pytest
import torch
from torch.distributions import Categorical, MultivariateNormal

from priorfit.baselines import exact
from priorfit.baselines.exact.dispatch import exact_or_none
from priorfit.priors import BetaBernoulli, GaussianProcess, LinearRegression, Mixture, NormalInputs
from priorfit.seeding import seeded

SHORT, LONG = GaussianProcess(lengthscale=0.1, noise=0.01), GaussianProcess(lengthscale=1.0, noise=0.1)
LINEAR = LinearRegression(num_features=2, noise=0.2, weight_scale=1.5)
PRIORS = {
    "gp": SHORT,
    "linear": LINEAR,
    "coins": BetaBernoulli(2.0, 0.5),
    "mixture_of_gps": Mixture([SHORT, LONG], weights=[0.2, 0.8]),
    "mixture_of_kinds": Mixture([LINEAR, GaussianProcess(2, noise=0.2, inputs=LINEAR.inputs)]),
    "mixture_of_coins": Mixture([BetaBernoulli(9.0, 1.0), BetaBernoulli(1.0, 9.0)]),
    "mixture_of_mixtures": Mixture([LONG, Mixture([SHORT, LONG], weights=[3.0, 1.0])]),
}


def drawn(prior, num_points=7):
    with seeded(0):
        return prior.draw(prior.inputs.sample(5, num_points, prior.num_features).double())


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS.keys())
def test_the_evidence_is_the_product_of_the_predictives(prior):
    """p(y_1 ... y_n) = p(y_1) p(y_2 | y_1) ...: any error in evidence, weights or predictive breaks it."""
    x, y = (part := drawn(prior)).x, part.y
    predictor = exact(prior)
    chain = sum(
        predictor.condition(x[:, :n], y[:, :n]).predict(x[:, n : n + 1]).log_prob(y[:, n : n + 1])[:, 0]
        for n in range(x.shape[1])
    )
    torch.testing.assert_close(predictor.log_evidence(x, y), chain, rtol=0, atol=1e-8)


def test_weights_follow_the_evidence_of_jointly_normal_targets():
    prior, datasets = PRIORS["mixture_of_gps"], drawn(PRIORS["mixture_of_gps"])
    x, y = datasets.x, datasets.y

    def joint(num_points):
        parts = [
            torch.tensor(weight, dtype=torch.float64).log()
            + MultivariateNormal(torch.zeros_like(y[:, :num_points]), gp.noisy_covariance(x[:, :num_points])).log_prob(
                y[:, :num_points]
            )
            for gp, weight in zip((SHORT, LONG), (0.2, 0.8), strict=True)
        ]
        return torch.stack(parts).logsumexp(0)

    ppd = exact(prior).condition(x[:, :-1], y[:, :-1]).predict(x[:, -1:])
    torch.testing.assert_close(ppd.log_prob(y[:, -1:])[:, 0], joint(7) - joint(6), rtol=0, atol=1e-8)


def test_long_contexts_tell_the_components_apart():
    prior = Mixture([BetaBernoulli(9.0, 1.0), BetaBernoulli(1.0, 9.0)])
    x, y = torch.zeros(2, 50, 1), torch.stack([torch.ones(50), torch.zeros(50)])
    posterior = exact(prior).condition(x, y)
    assert posterior.log_weights[0, 0] > -1e-3 and posterior.log_weights[1, 1] > -1e-3
    assert isinstance(posterior.predict(x), Categorical)


def test_priors_with_inputs_of_their_own_have_no_exact_mixture():
    assert exact_or_none(Mixture([GaussianProcess(), GaussianProcess(inputs=NormalInputs())])) is None
