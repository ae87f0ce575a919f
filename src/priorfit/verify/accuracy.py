"""The gap to the exact posterior, and whether a larger context helps."""

from collections.abc import Iterable

from priorfit.baselines.exact import exact_or_none
from priorfit.metrics import Estimate, divergence
from priorfit.predictor import Predictor, predict
from priorfit.priors import Prior
from priorfit.verify.check import TRAIN, Check, advised, graded
from priorfit.verify.tasks import Examined


def gap_checks(examined: Iterable[Examined], prior: Prior, name: str) -> list[Check]:
    """The gap to the exact posterior at each context size, or one line that says that the prior has none."""
    reference = exact_or_none(prior)
    if reference is not None:
        return [_gap_check(some, reference) for some in examined]
    words = f"No exact answer is known for {name}. Judge by PIT and calibration, or compare with a long run of MCMC."
    return [Check("gap to exact", "not checked", words)]


def _gap_check(some: Examined, reference: Predictor) -> Check:
    tasks = some.tasks
    truth = predict(reference, tasks)
    gap = Estimate.over(divergence(truth, some.ppd).mean(-1))
    verdict = graded(gap.mean + gap.half_width, good=0.05, doubtful=0.2)
    words = f"{gap} nats are lost to the exact posterior."
    numbers = {"gap": gap.mean, "half_width": gap.half_width}
    return Check(f"gap to exact at n = {some.num_context}", verdict, advised(words, verdict, TRAIN), numbers)


def learning_check(first: Examined, last: Examined) -> Check:
    """Check that a larger context lowers the NLL."""
    before, after = first.nll, last.nll
    words = f"The NLL goes from {before} at n = {first.num_context} to {after} at n = {last.num_context}: " + (
        "more data help." if after.mean < before.mean else "more data do not help."
    )
    gained = before.mean - after.mean
    verdict = "good" if gained > 0 else graded(-gained, 0.0, before.half_width + after.half_width)
    advice = "Train longer; if targets of this prior tell nothing of each other, that is as it should be."
    numbers = {"first": before.mean, "last": after.mean}
    return Check("learning from the context", verdict, advised(words, verdict, advice), numbers)
