"""The exact predictor of a prior that has one."""

from functools import singledispatch

from priorfit.baselines.exact_beta_bernoulli import ExactBetaBernoulli
from priorfit.baselines.exact_gp import ExactGP
from priorfit.baselines.exact_linear import ExactLinear
from priorfit.predictor import Predictor
from priorfit.priors.beta_bernoulli import BetaBernoulli
from priorfit.priors.gaussian_process import GaussianProcess
from priorfit.priors.linear import LinearRegression
from priorfit.priors.prior import Prior


@singledispatch
def exact(prior: Prior) -> Predictor | None:
    """The exact answer for a prior, or None where no closed form is known.

    >>> exact(GaussianProcess(lengthscale=0.3)).gp.lengthscale
    0.3
    """
    # A HyperGaussianProcess has none either: the HyperGPOracle has a Monte Carlo error, and an entropy of thousands of
    # components costs their square, so that no progress bar and no gap could use it.
    return None


@exact.register
def _(prior: GaussianProcess) -> Predictor | None:
    return ExactGP(prior)


@exact.register
def _(prior: LinearRegression) -> Predictor | None:
    return ExactLinear(prior)


@exact.register
def _(prior: BetaBernoulli) -> Predictor | None:
    return ExactBetaBernoulli(prior)
