"""Predictive distributions, complete and exact, and functions of them."""

from priorfit.distributions.affine import affine as affine
from priorfit.distributions.bounded_riemann import BoundedRiemann as BoundedRiemann
from priorfit.distributions.buckets import equal_mass_borders as equal_mass_borders
from priorfit.distributions.expectation import best_fit as best_fit
from priorfit.distributions.expectation import expected_log_prob as expected_log_prob
from priorfit.distributions.law_mixture import LawMixture as LawMixture
from priorfit.distributions.normal_mixture import NormalMixture as NormalMixture
from priorfit.distributions.riemann import Riemann as Riemann
from priorfit.distributions.stratified import stratified_log_prob as stratified_log_prob
from priorfit.distributions.unbounded_riemann import UnboundedRiemann as UnboundedRiemann
from priorfit.distributions.weighted_draws import WeightedDraws as WeightedDraws
