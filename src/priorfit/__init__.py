"""Turn any prior you can sample from into a network that does Bayesian inference in one forward pass."""

from importlib.metadata import version as _version

from priorfit import baselines as baselines
from priorfit import distributions as distributions
from priorfit import metrics as metrics
from priorfit import priors as priors
from priorfit.baselines.exact import exact as exact
from priorfit.data import Batch as Batch
from priorfit.data import Classes as Classes
from priorfit.data import Datasets as Datasets
from priorfit.data import Real as Real
from priorfit.network import PFN as PFN
from priorfit.network import FourierEncoder as FourierEncoder
from priorfit.network import LinearEncoder as LinearEncoder
from priorfit.network import NetworkSettings as NetworkSettings
from priorfit.network import NormalHead as NormalHead
from priorfit.network import NormalMixtureHead as NormalMixtureHead
from priorfit.network import RiemannHead as RiemannHead
from priorfit.network import SigmoidHead as SigmoidHead
from priorfit.network import SoftmaxHead as SoftmaxHead
from priorfit.predictor import Posterior as Posterior
from priorfit.predictor import Predictor as Predictor
from priorfit.priors import ArchitecturePrior as ArchitecturePrior
from priorfit.priors import BayesianNetwork as BayesianNetwork
from priorfit.priors import BetaBernoulli as BetaBernoulli
from priorfit.priors import Binarized as Binarized
from priorfit.priors import Empirical as Empirical
from priorfit.priors import GaussianProcess as GaussianProcess
from priorfit.priors import HyperGaussianProcess as HyperGaussianProcess
from priorfit.priors import LinearRegression as LinearRegression
from priorfit.priors import Mixture as Mixture
from priorfit.priors import NormalInputs as NormalInputs
from priorfit.priors import PaddedFeatures as PaddedFeatures
from priorfit.priors import Prior as Prior
from priorfit.priors import Standardized as Standardized
from priorfit.priors import Strokes as Strokes
from priorfit.priors import UniformInputs as UniformInputs
from priorfit.priors import WeightedFeatures as WeightedFeatures
from priorfit.priors.checks import check_prior as check_prior
from priorfit.priors.function import prior as prior
from priorfit.seeding import seeded as seeded
from priorfit.training import Recipe as Recipe
from priorfit.training import fit as fit
from priorfit.training import read_recipe as read_recipe
from priorfit.training import train as train
from priorfit.verify import verify as verify
from priorfit.zoo import load as load

__version__ = _version("priorfit")


def __getattr__(name: str) -> object:
    """What needs an extra is loaded when it is asked for."""
    if name in ("estimators", "plots"):
        import importlib

        return importlib.import_module(f"priorfit.{name}")
    raise AttributeError(f"module 'priorfit' has no attribute {name!r}")
