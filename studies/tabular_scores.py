"""How good an answer to one small table is: scores of class probabilities, and of distributions of a number."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Num, Shaped
from sklearn.metrics import roc_auc_score
from torch.distributions import Distribution

from priorfit.baselines.tabular.probabilities import floored
from priorfit.metrics import coverage, crps

LEVEL = 0.95
"""The level of the central intervals whose coverage is reported."""

Probabilities = Float[np.ndarray, "rows classes"]
Labels = Int[np.ndarray, " rows"]


def auc(y: Labels, probabilities: Probabilities) -> float:
    """Area under the ROC curve; with more than two classes the mean over those of the queries, each against the rest.

    NaN where all queries are of one class.
    """
    count = probabilities.shape[1]
    classes = [1] if count == 2 else range(count)
    both = [one for one in classes if 0 < (y == one).sum() < len(y)]
    return float(np.mean([roc_auc_score(y == one, probabilities[:, one]) for one in both])) if both else float("nan")


def log_loss(y: Labels, probabilities: Probabilities) -> float:
    """The mean of -log p(label) in nats, with probabilities mixed with 1e-6 of the uniform distribution."""
    return float(-np.log(floored(probabilities)[np.arange(len(y)), y]).mean())


@dataclass(frozen=True)
class CalibrationBins:
    """Stated minus true frequencies, summed over the predictions of each bin of probability; sums of parts add up.

    ECE is the mean distance of the two (`error`), over bins of equal width from 0 to 1.
    """

    surplus: Float[np.ndarray, " bins"]
    count: int

    @classmethod
    def of_top_class(cls, y: Labels, probabilities: Probabilities, num_bins: int) -> "CalibrationBins":
        """The bins of the most probable class of each prediction, whatever the number of classes."""
        return cls.of_events(probabilities.argmax(1) == y, probabilities.max(1), num_bins)

    @classmethod
    def of_events(
        cls, happened: Shaped[np.ndarray, " rows"], stated: Float[np.ndarray, " rows"], num_bins: int
    ) -> "CalibrationBins":
        """The bins of events by their stated probabilities; the paper's figure 10 has "class 1" as the event."""
        bins = np.minimum((stated.astype(np.float64) * num_bins).astype(int), num_bins - 1)
        return cls(np.bincount(bins, stated - happened, minlength=num_bins), len(stated))

    def __add__(self, other: "CalibrationBins") -> "CalibrationBins":
        """The sums of both parts."""
        return CalibrationBins(self.surplus + other.surplus, self.count + other.count)

    @property
    def error(self) -> float:
        """The expected calibration error."""
        return float(np.abs(self.surplus).sum() / self.count)


def calibration_floor(stated: Float[np.ndarray, " rows"], num_bins: int, *, draws: int = 100, seed: int = 0) -> float:
    """The ECE that predictions of an event would have on average if they were perfectly calibrated.

    Events are drawn with the stated probabilities; what is left is the noise of a finite number of predictions.
    """
    generator = np.random.default_rng(seed)
    drawn = [generator.random(len(stated)) < stated for _ in range(draws)]
    return float(np.mean([CalibrationBins.of_events(happened, stated, num_bins).error for happened in drawn]))


def regression_scores(y: Num[np.ndarray, " rows"], ppd: Distribution, scale: float) -> dict[str, float]:
    """CRPS, log loss, squared error and coverage of predictive distributions, with targets in units of ``scale``.

    ``squared_error`` is the mean square, so that the normalised RMSE of a set is the root of a mean over subsets.
    """
    target = torch.as_tensor(y, dtype=ppd.mean.dtype)
    squared_error = float(((ppd.mean - target) ** 2).mean()) / scale**2
    return {
        "crps": float(crps(ppd, target).mean()) / scale,
        "log_loss": float(-ppd.log_prob(target).mean()) - float(np.log(scale)),
        "squared_error": squared_error,
        "coverage": float(coverage(ppd, target, torch.tensor([LEVEL], dtype=ppd.mean.dtype))[0]),
    }
