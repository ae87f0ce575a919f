"""What a PFN is compared with: exact answers where they exist."""

from priorfit.baselines.collapsed_bnn import CollapsedBNN as CollapsedBNN
from priorfit.baselines.exact import exact as exact
from priorfit.baselines.exact_beta_bernoulli import ExactBetaBernoulli as ExactBetaBernoulli
from priorfit.baselines.exact_gp import ExactGP as ExactGP
from priorfit.baselines.exact_linear import ExactLinear as ExactLinear
from priorfit.baselines.hyper_gp_oracle import HyperGPOracle as HyperGPOracle
