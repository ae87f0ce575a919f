"""Checks of invariance: to the order of the context, the rest of the batch, and the other queries."""

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.predictor import Predictor
from priorfit.seeding import seeded
from priorfit.verify.check import Check, advised, graded
from priorfit.verify.tasks import Examined

NUM_DATASETS = 16


def order_check(model: Predictor, some: Examined, seed: int) -> Check:
    """Check that a shuffled context gives the same prediction."""
    tasks = some.tasks
    with seeded(seed):
        order = torch.randperm(some.num_context)
    return _compared(
        "order of the context",
        _log_density(model, some, slice(NUM_DATASETS)),
        _log_density(model, some, slice(NUM_DATASETS), order.to(tasks.context_x.device)),
        "A shuffled context changes log densities by at most",
    )


def batch_check(model: Predictor, some: Examined) -> Check:
    """Check that a dataset has the same prediction alone and in a batch."""
    count = min(NUM_DATASETS, len(some.tasks.query_y))
    alone = [_log_density(model, some, slice(i, i + 1)) for i in range(count)]
    return _compared(
        "other datasets of the batch",
        _log_density(model, some, slice(count)),
        torch.cat(alone),
        "A dataset alone and in a batch differ in log density by at most",
    )


def queries_check(model: Predictor, some: Examined) -> Check:
    """Check that a query has the same prediction alone and among others."""
    tasks = some.tasks
    count = min(NUM_DATASETS, len(tasks.query_y))
    others = tasks.query_x[:count, 0].expand(count, count, -1)  # (datasets, query, features)
    y = tasks.query_y[:count].expand(count, count)
    with torch.no_grad():
        posterior = model.condition(tasks.context_x[:count], tasks.context_y[:count])
        among = posterior.predict(others).log_prob(y).diagonal()[:, None]  # (datasets, 1)
    return _compared(
        "other queries",
        _log_density(model, some, slice(count)),
        among,
        "A query alone and among others differs in log density by at most",
    )


def _log_density(
    model: Predictor, some: Examined, rows: slice, order: Tensor | None = None
) -> Float[Tensor, "datasets query"]:
    tasks = some.tasks
    x, y = tasks.context_x[rows], tasks.context_y[rows]
    if order is not None:
        x, y = x[:, order], y[:, order]
    with torch.no_grad():
        return model.condition(x, y).predict(tasks.query_x[rows]).log_prob(tasks.query_y[rows])


def _compared(question: str, one: Tensor, other: Tensor, words: str) -> Check:
    difference = float((one - other).abs().max())
    verdict = graded(difference, good=1e-2, doubtful=0.1)
    advice = "If model.double() makes it vanish it is rounding; if not, something in the network sees what it must not."
    return Check(question, verdict, advised(f"{words} {difference:.1e}.", verdict, advice), {"difference": difference})
