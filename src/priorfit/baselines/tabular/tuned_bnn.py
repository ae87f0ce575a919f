"""A Bayesian network, by variational inference, whose width and learning rate are tuned."""

from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float

from priorfit.baselines.bnn.svi_bnn import SviBNN, SviBNNPosterior
from priorfit.baselines.tabular.cross_validation import Classifier, Labels, Settings
from priorfit.baselines.tabular.grids import Grid, paper_grid
from priorfit.baselines.tabular.tuned_classifier import TunedClassifier
from priorfit.data import Classes
from priorfit.distributions.class_probabilities import class_probs
from priorfit.priors.bayesian_network import BayesianNetwork


@dataclass(frozen=True, kw_only=True)
class TunedBNN(TunedClassifier):
    """A `BayesianNetwork` with one hidden layer, fitted by `SviBNN`, as a `TunedClassifier`.

    The settings are ``embed`` (hidden units), ``lr`` (Adam's), ``num_training_steps`` and
    ``num_samples_for_prediction``. ``activation`` is that of `BayesianNetwork`: None, as in the authors' released code.
    """

    grid: Grid = field(default_factory=lambda: paper_grid("bnn"))
    activation: str | None = None

    def fit(self, x: Float[np.ndarray, "rows features"], y: Labels, settings: Settings) -> Classifier:
        """See `TunedClassifier.fit`."""
        prior = BayesianNetwork(
            num_features=x.shape[1],
            hidden=(settings["embed"],),
            activation=self.activation,
            outcome=Classes(int(y.max()) + 1),
        )
        inference = SviBNN(
            prior,
            num_steps=settings["num_training_steps"],
            num_samples=settings["num_samples_for_prediction"],
            learning_rate=settings["lr"],
            seed=self.seed,
        )
        return FittedBNN(inference.condition(torch.from_numpy(x), torch.from_numpy(y)))


@dataclass(frozen=True)
class FittedBNN:
    """The posterior of a network as a `Classifier`."""

    posterior: SviBNNPosterior

    def predict_proba(self, x: Float[np.ndarray, "rows features"], /) -> Float[np.ndarray, "rows classes"]:
        """See `Classifier.predict_proba`."""
        return class_probs(self.posterior.predict(torch.from_numpy(x))).numpy()
