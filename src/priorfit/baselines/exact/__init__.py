"""Closed forms and oracles: the exact posterior, or one up to a Monte Carlo error that is stated."""

from priorfit.baselines.exact.dispatch import exact as exact
from priorfit.baselines.exact.dispatch import exact_or_none as exact_or_none
