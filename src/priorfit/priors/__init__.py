"""Distributions over datasets, to be drawn from."""

from priorfit.priors.gaussian_process import GaussianProcess as GaussianProcess
from priorfit.priors.inputs import Inputs as Inputs
from priorfit.priors.inputs import NormalInputs as NormalInputs
from priorfit.priors.inputs import UniformInputs as UniformInputs
from priorfit.priors.prior import Prior as Prior
