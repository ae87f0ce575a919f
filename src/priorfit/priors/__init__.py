"""Distributions over datasets, to be drawn from."""

from collections.abc import Mapping
from types import MappingProxyType

from priorfit.data import Classes, Real
from priorfit.priors.architectures import Architecture as Architecture
from priorfit.priors.architectures import ArchitecturePrior as ArchitecturePrior
from priorfit.priors.architectures import Beta as Beta
from priorfit.priors.architectures import Constant as Constant
from priorfit.priors.architectures import GammaRange as GammaRange
from priorfit.priors.architectures import Sampler as Sampler
from priorfit.priors.architectures import ScaledBeta as ScaledBeta
from priorfit.priors.bayesian_network import BayesianNetwork as BayesianNetwork
from priorfit.priors.beta_bernoulli import BetaBernoulli as BetaBernoulli
from priorfit.priors.categorical_features import CategoricalFeatures as CategoricalFeatures
from priorfit.priors.class_conditional import ClassConditional as ClassConditional
from priorfit.priors.curves import Curves as Curves
from priorfit.priors.distortion import Distorted as Distorted
from priorfit.priors.distortion import Distortion as Distortion
from priorfit.priors.empirical import Empirical as Empirical
from priorfit.priors.few_shot import FewShot as FewShot
from priorfit.priors.function import FunctionPrior as FunctionPrior
from priorfit.priors.gaussian_process import GaussianProcess as GaussianProcess
from priorfit.priors.hyper_gaussian_process import Gamma as Gamma
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess as HyperGaussianProcess
from priorfit.priors.hyper_gaussian_process import Hyperparameters as Hyperparameters
from priorfit.priors.inputs import ClusteredInputs as ClusteredInputs
from priorfit.priors.inputs import Inputs as Inputs
from priorfit.priors.inputs import MixtureInputs as MixtureInputs
from priorfit.priors.inputs import NormalInputs as NormalInputs
from priorfit.priors.inputs import UniformInputs as UniformInputs
from priorfit.priors.latents import Latent as Latent
from priorfit.priors.linear import LinearRegression as LinearRegression
from priorfit.priors.many_functions import ManyFunctions as ManyFunctions
from priorfit.priors.mixture import Mixture as Mixture
from priorfit.priors.objectives import LogNormalDraws as LogNormalDraws
from priorfit.priors.objectives import Objectives as Objectives
from priorfit.priors.prior import Prior as Prior
from priorfit.priors.program import ProgramPrior as ProgramPrior
from priorfit.priors.resampled import ResampledTables as ResampledTables
from priorfit.priors.steps import Steps as Steps
from priorfit.priors.strokes import Characters as Characters
from priorfit.priors.strokes import Strokes as Strokes
from priorfit.priors.tables.tables import Tables as Tables
from priorfit.priors.wrappers import Binarized as Binarized
from priorfit.priors.wrappers import PaddedFeatures as PaddedFeatures
from priorfit.priors.wrappers import Standardized as Standardized
from priorfit.priors.wrappers import WeightedFeatures as WeightedFeatures

PRIORS: Mapping[str, type] = MappingProxyType(
    {
        cls.__name__: cls
        for cls in (
            BayesianNetwork,
            BetaBernoulli,
            Binarized,
            CategoricalFeatures,
            Curves,
            Distorted,
            Distortion,
            Empirical,
            FewShot,
            FunctionPrior,
            GaussianProcess,
            HyperGaussianProcess,
            LinearRegression,
            ManyFunctions,
            Mixture,
            Objectives,
            LogNormalDraws,
            PaddedFeatures,
            ProgramPrior,
            Standardized,
            Steps,
            Strokes,
            Tables,
            Gamma,
            ClusteredInputs,
            MixtureInputs,
            NormalInputs,
            UniformInputs,
            WeightedFeatures,
            ArchitecturePrior,
            Beta,
            Constant,
            GammaRange,
            ScaledBeta,
            Classes,
            Real,
        )
    }
)
"""Every type that may stand in the description of a prior, by name."""
