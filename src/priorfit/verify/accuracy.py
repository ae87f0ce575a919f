"""The gap to the exact posterior, and whether a larger context helps."""

import warnings
from collections.abc import Iterable

import torch

from priorfit.baselines.exact import exact_or_none
from priorfit.baselines.exact.program_oracle import QUICK, ProgramOracle
from priorfit.data import Batch
from priorfit.errors import UncertainTruthWarning
from priorfit.metrics import Estimate, divergence
from priorfit.predictor import Predictor, predict
from priorfit.priors import Prior
from priorfit.verify.check import TRAIN, Check, advised, graded
from priorfit.verify.tasks import Examined

SAMPLED_SHARE, FEWEST, MOST = 1 / 40, 4, 48
"""Share, fewest and most of the datasets that are compared with importance sampling: up to a tenth of a second each."""


def gap_checks(examined: Iterable[Examined], model: Predictor, prior: Prior, name: str) -> list[Check]:
    """The gap to the exact posterior at each context size, or one line that says that the prior has none."""
    reference = exact_or_none(prior)
    if isinstance(reference, ProgramOracle):
        quick = ProgramOracle(reference.prior, effort=QUICK, efforts=(1, 4))
        return [_sampled_gap_check(some, model, quick) for some in examined]
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


def _sampled_gap_check(some: Examined, model: Predictor, reference: ProgramOracle) -> Check:
    """The gap to importance sampling on some of the datasets; not checked where its own runs differ by too much."""
    all_tasks = some.tasks
    few = slice(min(MOST, max(FEWEST, round(SAMPLED_SHARE * len(all_tasks.query_y)))))
    tasks = Batch(all_tasks.context_x[few], all_tasks.context_y[few], all_tasks.query_x[few], all_tasks.query_y[few])
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertainTruthWarning)  # the words of the check say it
        posterior = reference.condition(tasks.context_x, tasks.context_y)
        truth, ppd = posterior.predict(tasks.query_x), predict(model, tasks)
        gap, error = Estimate.over(divergence(truth, ppd).mean(-1)), float(posterior.error.mean())
    question = f"gap to importance sampling at n = {some.num_context}"
    numbers = {"gap": gap.mean, "half_width": gap.half_width, "error": error, "datasets": len(tasks.query_y)}
    if error > reference.tolerance / 5:
        words = f"Two runs of importance sampling differ by {error:.2g} nats, so neither is the truth. Judge by PIT."
        return Check(question, "not checked", words, numbers)
    verdict = graded(gap.mean + gap.half_width, good=0.05, doubtful=0.2)
    words = f"{gap} nats are lost to the posterior by importance sampling, which is good to {error:.1g}."
    return Check(question, verdict, advised(words, verdict, TRAIN), numbers)


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
