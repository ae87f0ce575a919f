"""The network: encoders, transformer, heads, and the PFN that joins them."""

from priorfit.network.card import ModelCard as ModelCard
from priorfit.network.embedding import FourierEncoder as FourierEncoder
from priorfit.network.embedding import LinearEncoder as LinearEncoder
from priorfit.network.harmonics import Harmonics as Harmonics
from priorfit.network.heads import NormalHead as NormalHead
from priorfit.network.heads import NormalMixtureHead as NormalMixtureHead
from priorfit.network.heads import RiemannHead as RiemannHead
from priorfit.network.heads import SigmoidHead as SigmoidHead
from priorfit.network.heads import SoftmaxHead as SoftmaxHead
from priorfit.network.latent_regression import LatentRegression as LatentRegression
from priorfit.network.model import Model as Model
from priorfit.network.pfn import PFN as PFN
from priorfit.network.pfn import load_pfn as load_pfn
from priorfit.network.polynomials import PolynomialEncoder as PolynomialEncoder
from priorfit.network.problem import Columns as Columns
from priorfit.network.problem import Problem as Problem
from priorfit.network.regression import Regression as Regression
from priorfit.network.settings import NetworkSettings as NetworkSettings
from priorfit.network.storage import NETWORK_TYPES as NETWORK_TYPES
