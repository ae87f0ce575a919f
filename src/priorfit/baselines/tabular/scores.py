"""How good held-out probabilities are; more is better."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from priorfit.extras import needs_extra

with needs_extra("baselines"):
    from sklearn.metrics import accuracy_score, roc_auc_score

Score = Callable[[Int[np.ndarray, " rows"], Float[np.ndarray, "rows classes"]], float]
"""From the labels 0 ... classes - 1 of some rows and their predicted probabilities to a score; more is better."""


def roc_auc(y: Int[np.ndarray, " rows"], probabilities: Float[np.ndarray, "rows classes"]) -> float:
    """The area under the ROC curve; of more than two classes the mean of each against the others.

    >>> roc_auc(np.array([0, 1, 1]), np.array([[0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]))
    0.5
    """
    if probabilities.shape[1] == 2:
        return float(roc_auc_score(y, probabilities[:, 1]))
    return float(roc_auc_score(y, probabilities, multi_class="ovr"))


def log_likelihood(y: Int[np.ndarray, " rows"], probabilities: Float[np.ndarray, "rows classes"]) -> float:
    """The mean log probability of the labels."""
    return float(np.log(probabilities[np.arange(len(y)), y]).mean())


def accuracy(y: Int[np.ndarray, " rows"], probabilities: Float[np.ndarray, "rows classes"]) -> float:
    """The share of rows whose most probable class is their label."""
    return float(accuracy_score(y, probabilities.argmax(-1)))
