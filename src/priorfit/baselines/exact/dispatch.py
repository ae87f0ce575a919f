"""The exact predictor of a prior that has one."""

from functools import singledispatch

from priorfit.baselines.exact.beta_bernoulli import ExactBetaBernoulli
from priorfit.baselines.exact.gaussian_process import ExactGP
from priorfit.baselines.exact.linear import ExactLinear
from priorfit.baselines.exact.mixture import ExactMixture, ExactPredictor
from priorfit.baselines.exact.program_oracle import ProgramOracle
from priorfit.errors import InputError
from priorfit.priors.bayesian_network import BayesianNetwork
from priorfit.priors.beta_bernoulli import BetaBernoulli
from priorfit.priors.gaussian_process import GaussianProcess
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess
from priorfit.priors.linear import LinearRegression
from priorfit.priors.mixture import Mixture
from priorfit.priors.prior import Prior
from priorfit.priors.program import ProgramPrior

HAVE_ONE = (
    "GaussianProcess, LinearRegression, BetaBernoulli, mixtures of these that share their inputs, and, by importance "
    "sampling, functions that name their latents and return a law"
)

INSTEAD: dict[type[Prior], str] = {
    HyperGaussianProcess: "baselines.HyperGPOracle(prior), which is importance sampling",
    BayesianNetwork: "baselines.CollapsedBNN(prior) for a network without activation, else baselines.NutsBNN(prior)",
}
"""The most accurate predictors that the library has for other priors."""


def exact(prior: Prior) -> ExactPredictor:
    """The exact predictor of a prior; an `InputError` where none is known.

    For a prior whose latents and law are named it is importance sampling, with its error: see `ProgramOracle`.

    >>> type(exact(GaussianProcess(lengthscale=0.3))).__name__
    'ExactGP'
    >>> exact(HyperGaussianProcess())
    Traceback (most recent call last):
    priorfit.errors.InputError: no exact posterior is known for HyperGaussianProcess. ...
    """
    if not isinstance(prior, Prior):
        raise InputError(f"exact takes a prior, such as GaussianProcess(); got {type(prior).__name__}.")
    found = exact_or_none(prior)
    if found is None:
        kind = getattr(prior, "name", type(prior).__name__)
        instead = INSTEAD.get(type(prior), "verify(model, prior), which also tests what needs no exact answer")
        raise InputError(f"no exact posterior is known for {kind}. These have one: {HAVE_ONE}. Use {instead}.")
    return found


@singledispatch
def exact_or_none(prior: Prior) -> ExactPredictor | None:
    """The exact predictor of a prior, or None where no closed form is known: for code that does without one.

    >>> exact_or_none(HyperGaussianProcess()) is None
    True
    """
    # A HyperGaussianProcess has none either: the HyperGPOracle has a Monte Carlo error, and an entropy of thousands of
    # components costs their square, so that no progress bar and no gap could use it.
    return None


@exact_or_none.register
def _(prior: GaussianProcess) -> ExactPredictor | None:
    return ExactGP(prior)


@exact_or_none.register
def _(prior: LinearRegression) -> ExactPredictor | None:
    return ExactLinear(prior)


@exact_or_none.register
def _(prior: BetaBernoulli) -> ExactPredictor | None:
    return ExactBetaBernoulli(prior)


@exact_or_none.register
def _(prior: ProgramPrior) -> ExactPredictor | None:
    return ProgramOracle(prior) if prior.has_law else None


@exact_or_none.register
def _(prior: Mixture) -> ExactPredictor | None:
    parts = tuple(part for part in map(exact_or_none, prior.priors) if part is not None)
    if len(parts) < len(prior.priors) or any(isinstance(part, ProgramOracle) for part in parts):
        return None  # a mixture of mixtures of thousands
    if prior.has_own_inputs:  # components with other inputs also differ in p(x)
        return None
    return ExactMixture(prior, parts)
