"""What a PFN is compared with: exact answers where they exist."""

from priorfit.baselines.exact_gp import ExactGP as ExactGP
