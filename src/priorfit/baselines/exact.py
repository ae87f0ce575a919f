"""The exact predictor of a prior that has one."""

from functools import singledispatch

from priorfit.baselines.exact_beta_bernoulli import ExactBetaBernoulli
from priorfit.baselines.exact_gp import ExactGP
from priorfit.baselines.exact_linear import ExactLinear
from priorfit.baselines.exact_mixture import ExactMixture, ExactPredictor
from priorfit.priors.beta_bernoulli import BetaBernoulli
from priorfit.priors.gaussian_process import GaussianProcess
from priorfit.priors.linear import LinearRegression
from priorfit.priors.mixture import Mixture
from priorfit.priors.prior import Prior


@singledispatch
def exact(prior: Prior) -> ExactPredictor | None:
    """The exact answer for a prior, or None where no closed form is known.

    >>> exact(GaussianProcess(lengthscale=0.3)).gp.lengthscale
    0.3
    """
    # A HyperGaussianProcess has none either: the HyperGPOracle has a Monte Carlo error, and an entropy of thousands of
    # components costs their square, so that no progress bar and no gap could use it.
    return None


@exact.register
def _(prior: GaussianProcess) -> ExactPredictor | None:
    return ExactGP(prior)


@exact.register
def _(prior: LinearRegression) -> ExactPredictor | None:
    return ExactLinear(prior)


@exact.register
def _(prior: BetaBernoulli) -> ExactPredictor | None:
    return ExactBetaBernoulli(prior)


@exact.register
def _(prior: Mixture) -> ExactPredictor | None:
    parts = tuple(part for part in map(exact, prior.priors) if part is not None)
    if len(parts) < len(prior.priors) or prior.has_own_inputs:  # with inputs of their own, x too tells components apart
        return None
    return ExactMixture(prior, parts)
