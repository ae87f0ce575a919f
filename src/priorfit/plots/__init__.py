"""Pictures of predictive distributions. Each takes an optional axis and returns the axis it drew on."""

from priorfit.plots.answers import plot_answer as plot_answer
from priorfit.plots.curves import plot_gap as plot_gap
from priorfit.plots.curves import plot_nll as plot_nll
from priorfit.plots.heatmap import plot_density as plot_density
from priorfit.plots.panels import plot_panels as plot_panels
from priorfit.plots.predictive import plot_predictive as plot_predictive
from priorfit.plots.prior_samples import plot_prior as plot_prior
from priorfit.plots.reliability import plot_calibration as plot_calibration
from priorfit.plots.reliability import plot_pit as plot_pit
from priorfit.plots.rows import plot_rows as plot_rows
