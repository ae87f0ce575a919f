"""Predictors that a PFN is compared with: exact ones where they exist, and the usual approximations.

Those that need a package beyond the core (extra ``baselines``), and some others, are loaded on first use.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from priorfit.baselines.collapsed_bnn import CollapsedBNN as CollapsedBNN
from priorfit.baselines.exact import exact as exact
from priorfit.baselines.exact_beta_bernoulli import ExactBetaBernoulli as ExactBetaBernoulli
from priorfit.baselines.exact_gp import ExactGP as ExactGP
from priorfit.baselines.exact_linear import ExactLinear as ExactLinear
from priorfit.baselines.exact_mixture import ExactMixture as ExactMixture
from priorfit.baselines.exact_mixture import ExactPredictor as ExactPredictor
from priorfit.baselines.hyper_gp_oracle import HyperGPOracle as HyperGPOracle
from priorfit.baselines.neural_process_settings import NeuralProcessSettings as NeuralProcessSettings

if TYPE_CHECKING:
    from priorfit.baselines.attentive_neural_process import AttentiveNeuralProcess as AttentiveNeuralProcess
    from priorfit.baselines.mle2_gp import MLE2GP as MLE2GP
    from priorfit.baselines.nuts_bnn import NutsBNN as NutsBNN
    from priorfit.baselines.nuts_gp import NutsGP as NutsGP
    from priorfit.baselines.svi_bnn import SviBNN as SviBNN
    from priorfit.baselines.tabular.tuned_bnn import TunedBNN as TunedBNN
    from priorfit.baselines.tabular.tuned_catboost import TunedCatBoost as TunedCatBoost
    from priorfit.baselines.tabular.tuned_gp import TunedGP as TunedGP
    from priorfit.baselines.tabular.tuned_knn import TunedKNN as TunedKNN
    from priorfit.baselines.tabular.tuned_logistic import TunedLogistic as TunedLogistic
    from priorfit.baselines.tabular.tuned_xgboost import TunedXGBoost as TunedXGBoost

_LAZY: dict[str, str] = {
    "AttentiveNeuralProcess": "attentive_neural_process",
    "MLE2GP": "mle2_gp",
    "NutsBNN": "nuts_bnn",
    "NutsGP": "nuts_gp",
    "SviBNN": "svi_bnn",
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
