"""Functions of predictive distributions and of predictors."""

from priorfit.metrics.acquisition import expected_improvement as expected_improvement
from priorfit.metrics.acquisition import probability_of_improvement as probability_of_improvement
from priorfit.metrics.acquisition import upper_confidence_bound as upper_confidence_bound
from priorfit.metrics.calibration import coverage as coverage
from priorfit.metrics.calibration import expected_calibration_error as expected_calibration_error
from priorfit.metrics.calibration import pit as pit
from priorfit.metrics.estimate import Estimate as Estimate
from priorfit.metrics.intervals import crps as crps
from priorfit.metrics.intervals import interval as interval
from priorfit.metrics.nll import divergence as divergence
from priorfit.metrics.nll import floor as floor
from priorfit.metrics.nll import gap as gap
from priorfit.metrics.nll import nll as nll
from priorfit.metrics.sizes import gap_rows as gap_rows
from priorfit.metrics.sizes import nll_rows as nll_rows
