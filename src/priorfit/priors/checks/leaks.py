"""Whether a statistic of the whole dataset is in its targets, so that some of them determine others.

The points of a sound dataset are independent given its function (and inputs drawn independently), so any feature of
one point is correlated with that of another by at least 0 (de Finetti). A statistic that is the same for
all datasets, such as the sum of targets that were centred, makes this correlation negative: datasets then differ less
than their points allow.
"""

from jaxtyping import Float
from torch import Tensor

from priorfit.priors.checks.ranks import fisher_ratios, fisher_z, pooled_ranks, sign_z

MOST_CLASSES = 10
"""Most distinct values whose frequencies are tested."""


def leak_z(y: Float[Tensor, "datasets points"]) -> tuple[str, float, float]:
    """The feature whose mean is steadiest over the datasets: its name, its F ratio and how far out that is."""
    found = []
    for name, values in _features(y).items():
        if values.shape[1] > 1:
            ratio = float(fisher_ratios(values[..., None])[0])
            found.append((max(fisher_z(ratio, *values.shape), _excess_z(values)), ratio, name))
    z, ratio, name = min(found)
    return name, ratio, z


def _excess_z(values: Float[Tensor, "datasets members"]) -> float:
    """How far the variance of dataset means exceeds what their members predict, in standard errors.

    The F ratio takes all datasets for equally spread; this holds where a few have most of the spread.
    """
    spread = values.var(1)  # (datasets)
    excess = values.shape[1] * (values.mean(1) - values.mean()).square() - spread  # (datasets)
    return float(sign_z(excess[:, None], least=1e-12 * float(spread.mean()))[0])


def _features(y: Float[Tensor, "datasets points"]) -> dict[str, Float[Tensor, "datasets _"]]:
    """Features of single points or of pairs, each point in one pair; a few outliers cannot hide a sum."""
    values = y.unique()
    if len(values) <= MOST_CLASSES:
        return {f"the number of targets {float(each):g}": (y == each).double() for each in values}
    pairs = (y[:, 0:-1:2] - y[:, 1::2]).square()  # (datasets, pairs)
    near = 1e-6 * (y.max() - y.min())
    return {
        "the mean": _clipped(y),
        "the mean rank": pooled_ranks(y),
        "the mean square": _clipped(y.square()),
        "the spread": _clipped(pairs),
        "the spread of ranks": pooled_ranks(pairs),
        "the number of positive targets": (y > 0).double(),
        "the number of points at the largest target": (y >= y.max() - near).double(),
        "the number of points at the smallest target": (y <= y.min() + near).double(),
        "the number of points of the largest size": (y.abs() >= y.abs().max() - near).double(),
    }


def _clipped(values: Float[Tensor, "datasets _"]) -> Float[Tensor, "datasets _"]:
    ordered = values.flatten().sort().values
    outside = len(ordered) // 200
    return values.clamp(ordered[outside], ordered[-1 - outside])
