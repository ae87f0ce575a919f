"""C2ST: how well a classifier tells draws of a method from those of the reference posterior; 0.5 is not at all."""

import warnings

import numpy as np
from jaxtyping import Float
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier

Draws = Float[np.ndarray, "draws parameters"]


def c2st(reference: Draws, found: Draws, seed: int = 1, most_epochs: int = 10_000) -> float:
    """The accuracy of a network of two hidden layers over five folds, as the benchmark sbibm measures it.

    Draws are in units of the reference; each hidden layer has ten units for each parameter.
    """
    mean, scale = reference.mean(0), reference.std(0, ddof=1)
    x = np.concatenate([(reference - mean) / scale, (found - mean) / scale])
    y = np.concatenate([np.zeros(len(reference)), np.ones(len(found))])
    width = 10 * reference.shape[1]
    network = MLPClassifier((width, width), activation="relu", solver="adam", max_iter=most_epochs, random_state=seed)
    folds = KFold(5, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(np.mean(cross_val_score(network, x, y, cv=folds, scoring="accuracy")))
