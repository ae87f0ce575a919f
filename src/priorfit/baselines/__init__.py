"""Predictors that a PFN is compared with: exact ones where they exist, and the usual approximations.

Those that need a package beyond the core (extra ``baselines``), and some others, are loaded on first use.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from priorfit.baselines.exact import exact as exact
from priorfit.baselines.exact.beta_bernoulli import ExactBetaBernoulli as ExactBetaBernoulli
from priorfit.baselines.exact.collapsed_bnn import CollapsedBNN as CollapsedBNN
from priorfit.baselines.exact.gaussian_process import ExactGP as ExactGP
from priorfit.baselines.exact.hyper_gp_oracle import HyperGPOracle as HyperGPOracle
from priorfit.baselines.exact.linear import ExactLinear as ExactLinear
from priorfit.baselines.exact.mixture import ExactMixture as ExactMixture
from priorfit.baselines.exact.mixture import ExactPredictor as ExactPredictor
from priorfit.baselines.exact.program_oracle import OraclePosterior as OraclePosterior
from priorfit.baselines.exact.program_oracle import ProgramOracle as ProgramOracle
from priorfit.baselines.neural_process.settings import NeuralProcessSettings as NeuralProcessSettings

if TYPE_CHECKING:
    from priorfit.baselines.bnn.nuts_bnn import NutsBNN as NutsBNN
    from priorfit.baselines.bnn.svi_bnn import SviBNN as SviBNN
    from priorfit.baselines.gp.mle2_gp import MLE2GP as MLE2GP
    from priorfit.baselines.gp.nuts_gp import NutsGP as NutsGP
    from priorfit.baselines.neural_process.attentive_neural_process import (
        AttentiveNeuralProcess as AttentiveNeuralProcess,
    )
    from priorfit.baselines.tabular.tuned_bnn import TunedBNN as TunedBNN
    from priorfit.baselines.tabular.tuned_catboost import TunedCatBoost as TunedCatBoost
    from priorfit.baselines.tabular.tuned_gp import TunedGP as TunedGP
    from priorfit.baselines.tabular.tuned_knn import TunedKNN as TunedKNN
    from priorfit.baselines.tabular.tuned_logistic import TunedLogistic as TunedLogistic
    from priorfit.baselines.tabular.tuned_xgboost import TunedXGBoost as TunedXGBoost

_LAZY: dict[str, str] = {
    "AttentiveNeuralProcess": "neural_process.attentive_neural_process",
    "MLE2GP": "gp.mle2_gp",
    "NutsBNN": "bnn.nuts_bnn",
    "NutsGP": "gp.nuts_gp",
    "SviBNN": "bnn.svi_bnn",
    "TunedBNN": "tabular.tuned_bnn",
    "TunedCatBoost": "tabular.tuned_catboost",
    "TunedGP": "tabular.tuned_gp",
    "TunedKNN": "tabular.tuned_knn",
    "TunedLogistic": "tabular.tuned_logistic",
    "TunedXGBoost": "tabular.tuned_xgboost",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(_import_module(f"priorfit.baselines.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'priorfit.baselines' has no attribute {name!r}")
