"""Checks of calibration: PIT values, credible intervals and confidence."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Classes, Outcome
from priorfit.distributions.class_probabilities import class_probs
from priorfit.metrics import coverage, expected_calibration_error, pit
from priorfit.seeding import seeded
from priorfit.verify.check import TRAIN, Check, advised, graded
from priorfit.verify.tasks import Examined

LEVELS = (0.5, 0.95)
SURE = 2.81
"""Standard errors that a calibrated model exceeds once in 200 times."""

GOOD, DOUBTFUL = 0.02, 0.08
"""How far a share may be off beyond chance, in units of sqrt(level (1 - level)): 1 and 4 % at the level 50 %, 0.4 and
1.7 % at 95 %, where as much as at 50 % would be a large part of what lies outside."""


def pit_check(some: Examined, seed: int) -> Check:
    """Check that PIT values are uniform, by Kolmogorov's distance to the uniform distribution."""
    with seeded(seed):  # PIT values of classes are random
        values = pit(some.ppd, some.tasks.query_y).flatten().double()
    distance = kolmogorov_distance(values)
    chance = 1.73 / math.sqrt(len(values))  # a calibrated model exceeds it once in 200 times
    verdict = graded(distance, good=max(chance, 0.03), doubtful=max(chance, 0.08))
    words = (
        f"The quantiles at which the targets came are uniform to within {distance:.3f} "
        f"(chance alone gives up to {chance:.3f} with {len(values):,} datasets)."
    )
    advice = f"{_fault(values)} {TRAIN}"
    numbers = {"distance": distance, "chance": chance}
    return Check(f"PIT at n = {some.num_context}", verdict, advised(words, verdict, advice), numbers)


def _fault(values: Float[Tensor, " values"]) -> str:
    """The fault where PIT values are not uniform: location or spread, whichever is further off."""
    shift = float(values.mean() - 0.5) * math.sqrt(12)  # in standard deviations of the uniform distribution
    spread = float(values.std()) * math.sqrt(12) - 1
    if abs(shift) > abs(spread):
        return f"The targets come {'higher' if shift > 0 else 'lower'} than they are predicted."
    return f"The predictions are too {'narrow' if spread > 0 else 'wide'}."


def kolmogorov_distance(values: Float[Tensor, " values"]) -> float:
    """The largest distance between the values' empirical cdf and that of the uniform distribution.

    >>> kolmogorov_distance(torch.tensor([0.25, 0.75]))
    0.25
    """
    ordered, count = values.sort().values, len(values)
    steps = torch.arange(count + 1, dtype=values.dtype, device=values.device) / count
    return float(torch.maximum(steps[1:] - ordered, ordered - steps[:-1]).max())


def calibration_check(some: Examined, outcome: Outcome, seed: int) -> Check:
    """Check the coverage of intervals for reals, and the confidence for classes."""
    return _confidence_check(some) if isinstance(outcome, Classes) else _coverage_check(some, seed)


def _coverage_check(some: Examined, seed: int) -> Check:
    levels = torch.tensor(LEVELS, dtype=torch.float64)
    with seeded(seed):
        shares = coverage(some.ppd, some.tasks.query_y, levels)
    count = some.tasks.query_y.numel()
    found = [(level, float(share), math.sqrt(level * (1 - level))) for level, share in zip(LEVELS, shares, strict=True)]
    chance = SURE / math.sqrt(count)  # in standard deviations of one outcome, as are the tolerances
    excess = max(abs(share - level) / deviation - chance for level, share, deviation in found)
    stated = ", ".join(
        f"{share:.1%} in the {level:.0%} interval (chance: up to {chance * deviation:.1%} off)"
        for level, share, deviation in found
    )
    verdict = graded(excess, good=GOOD, doubtful=DOUBTFUL)
    advice = f"The intervals are too {'narrow' if float(shares.sum()) < sum(LEVELS) else 'wide'}. {TRAIN}"
    words = advised(f"Of {count:,} targets, {stated}.", verdict, advice)
    numbers = {f"share_in_{level:.0%}": share for level, share, _ in found}
    return Check(f"coverage at n = {some.num_context}", verdict, words, numbers)


def _confidence_check(some: Examined) -> Check:
    error = float(expected_calibration_error(some.ppd, some.tasks.query_y))
    count = some.tasks.query_y.numel()
    chance = math.sqrt(15 / count) / 2  # fifteen bins, whose absolute errors add up even in a calibrated model
    words = (
        f"Over {count:,} labels, confidence and accuracy differ by {error:.1%} on average over bins "
        f"(chance alone gives up to about {chance:.1%})."
    )
    verdict = graded(error - chance, good=0.01, doubtful=0.05)
    probs, label = class_probs(some.ppd).max(-1)
    is_surer = float(probs.mean()) > float((label == some.tasks.query_y).to(probs.dtype).mean())
    advice = f"The model is too {'sure' if is_surer else 'unsure'}. {TRAIN}"
    numbers = {"error": error, "chance": chance}
    return Check(f"calibration at n = {some.num_context}", verdict, advised(words, verdict, advice), numbers)
