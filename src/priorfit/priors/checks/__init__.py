"""Whether a network can be fitted to a prior: faults in its form, its values and its law, each in a plain sentence."""

from priorfit.priors.checks.check import check_prior as check_prior
from priorfit.priors.checks.report import PriorReport as PriorReport
