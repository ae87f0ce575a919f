"""Pictures of what a predictor believes. Each takes an optional axis and returns the axis it drew on."""

from priorfit.plots.curves import plot_gap as plot_gap
from priorfit.plots.heatmap import plot_density as plot_density
from priorfit.plots.panels import plot_panels as plot_panels
from priorfit.plots.predictive import plot_predictive as plot_predictive
from priorfit.plots.reliability import plot_calibration as plot_calibration
from priorfit.plots.reliability import plot_pit as plot_pit
