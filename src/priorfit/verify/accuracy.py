"""How far is the model from the truth, and does it learn from its context?"""

from priorfit.baselines.exact import exact
from priorfit.metrics import Estimate, divergence
from priorfit.priors import Prior
from priorfit.verify.check import Check, graded
from priorfit.verify.tasks import Examined


def gap_check(some: Examined, prior: Prior) -> Check:
    """The gap to the exact posterior, where the prior has one."""
    question = f"gap to exact at n = {some.num_context}"
    reference = exact(prior)
    if reference is None:
        return Check(question, "not checked", f"No exact answer is known for {type(prior).__name__}.")
    tasks = some.tasks
    truth = reference.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    gap = Estimate.over(divergence(truth, some.ppd).mean(-1))
    words = f"{gap.mean:z.4f} ± {gap.half_width:.4f} nats are lost to the exact posterior."
    numbers = {"gap": gap.mean, "half_width": gap.half_width}
    return Check(question, graded(gap.mean + gap.half_width, good=0.05, doubtful=0.2), words, numbers)


def learning_check(first: Examined, last: Examined) -> Check:
    """Does a larger context help?"""
    before, after = first.nll, last.nll
    words = f"The NLL goes from {before} at n = {first.num_context} to {after} at n = {last.num_context}: " + (
        "more data help." if after.mean < before.mean else "more data do not help."
    )
    gained = before.mean - after.mean
    verdict = "good" if gained > 0 else graded(-gained, 0.0, before.half_width + after.half_width)
    return Check("learning from the context", verdict, words, {"first": before.mean, "last": after.mean})
