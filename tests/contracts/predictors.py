"""Every predictor with a prior whose datasets it can answer: a new one is a new line here."""

import torch
from baselines.tabular.methods import METHODS

from priorfit.baselines import (
    MLE2GP,
    AttentiveNeuralProcess,
    CollapsedBNN,
    ExactBetaBernoulli,
    ExactGP,
    ExactLinear,
    HyperGPOracle,
    NeuralProcessSettings,
    NutsBNN,
    NutsGP,
    SviBNN,
    exact,
)
from priorfit.data import Classes, Real
from priorfit.network import PFN, Model, NetworkSettings, Problem, Regression
from priorfit.priors import (
    BayesianNetwork,
    BetaBernoulli,
    GaussianProcess,
    HyperGaussianProcess,
    LinearRegression,
    Mixture,
)
from priorfit.priors.bayesian_network import SMALL
from priorfit.seeding import seeded

GP = GaussianProcess(num_features=2, kernel="matern32", lengthscale=0.4, noise=1e-3)
LINEAR = LinearRegression(num_features=3)
MIXTURE = Mixture([GP, GaussianProcess(num_features=2, lengthscale=2.0, noise=0.1)], weights=[0.3, 0.7])
COINS = BetaBernoulli(alpha=2.0, beta=1.0)
HYPER_GP = HyperGaussianProcess(num_features=2)
NETWORK = BayesianNetwork(num_features=1, hidden=(2,), activation="tanh", outcome=Classes(2))


def shaken(kind: type[PFN] | type[AttentiveNeuralProcess], settings: object) -> Model:
    """A network of random weights: the contract asks nothing of what it has learned."""
    with seeded(0):
        network = kind(settings, Problem(2, Real(), (0.0, 1.0)), target_sample=GP.sample(100, 20).y)
        for weight in network.parameters():
            weight.data.add_(0.2 * torch.randn_like(weight))
    return network.finished()


PREDICTORS = {
    "pfn": (shaken(PFN, NetworkSettings(width=16, layers=2, heads=2)), GP),
    "pfn with regression": (
        shaken(PFN, NetworkSettings(width=16, layers=2, heads=2, regression=Regression(8, 2, 16))),
        GP,
    ),
    "attentive_neural_process": (shaken(AttentiveNeuralProcess, NeuralProcessSettings(width=16)), GP),
    "exact_gp": (ExactGP(GP), GP),
    "exact_linear": (ExactLinear(LINEAR), LINEAR),
    "exact_mixture": (exact(MIXTURE), MIXTURE),
    "exact_beta_bernoulli": (ExactBetaBernoulli(COINS), COINS),
    "hyper_gp_oracle": (HyperGPOracle(HYPER_GP, num_samples=300), HYPER_GP),
    "mle2_gp": (MLE2GP(HYPER_GP), HYPER_GP),
    "nuts_gp": (NutsGP(HYPER_GP, num_samples=8), HYPER_GP),
    "nuts_gp_pyro": (NutsGP(HYPER_GP, num_samples=2, num_warmup=4, backend="pyro"), HYPER_GP),
    "collapsed_bnn": (CollapsedBNN(SMALL, num_samples=1024), SMALL),
    "nuts_bnn": (NutsBNN(NETWORK, num_samples=4), NETWORK),
    "nuts_bnn_pyro": (NutsBNN(NETWORK, num_samples=2, backend="pyro"), NETWORK),
    "svi_bnn": (SviBNN(NETWORK, num_steps=4), NETWORK),
    **{f"tuned_{name}": (method, SMALL) for name, method in METHODS.items()},
}

SAMPLED = frozenset({"nuts_gp", "nuts_gp_pyro", "nuts_bnn", "nuts_bnn_pyro", "svi_bnn"})
"""Names of those that run a chain or a stochastic optimiser: the order in which a context is summed changes the last
digits, and these the whole path, so two orders are answered alike only up to a Monte Carlo error. Their own tests
hold them to an exact answer within that error."""
