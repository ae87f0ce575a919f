"""Every predictor with a prior whose datasets it can answer: a new one is a new line here."""

from priorfit.baselines import ExactBetaBernoulli, ExactGP, ExactLinear
from priorfit.priors import BetaBernoulli, GaussianProcess, LinearRegression

GP = GaussianProcess(num_features=2, kernel="matern32", lengthscale=0.4, noise=1e-3)
LINEAR = LinearRegression(num_features=3)
COINS = BetaBernoulli(alpha=2.0, beta=1.0)

PREDICTORS = {
    "exact_gp": (ExactGP(GP), GP),
    "exact_linear": (ExactLinear(LINEAR), LINEAR),
    "exact_beta_bernoulli": (ExactBetaBernoulli(COINS), COINS),
}
