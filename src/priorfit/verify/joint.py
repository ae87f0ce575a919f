"""Whether the joint density of several targets depends on the order in which the chain rule takes them."""

import torch

from priorfit.network import PFN
from priorfit.priors import Prior
from priorfit.seeding import seeded
from priorfit.verify.check import TRAIN, Check, advised, graded

NUM_DATASETS, NUM_QUERIES, NUM_ORDERS = 32, 4, 4
"""Few of each: every order takes a pass for every query."""


def joint_check(model: PFN, prior: Prior, num_context: int, seed: int) -> Check:
    """The standard deviation over orders of log p(y_1, ..., y_4 | context); that of an exact posterior is 0."""
    size = max(0, num_context - NUM_QUERIES)
    with seeded(seed, size, 5):
        tasks = prior.sample(NUM_DATASETS, size + NUM_QUERIES).split(size)
        orders = [torch.randperm(NUM_QUERIES) for _ in range(NUM_ORDERS)]
    with torch.no_grad():
        posterior = model.condition(tasks.context_x, tasks.context_y)
        joint = [posterior.joint_log_prob(tasks.query_x[:, order], tasks.query_y[:, order]) for order in orders]
    spread = float(torch.stack(joint).double().std(0).mean()) / NUM_QUERIES
    verdict = graded(spread, good=0.02, doubtful=0.1)
    words = f"Over {NUM_ORDERS} orders, the log density of {NUM_QUERIES} targets varies by {spread:.1e} nats a target."
    return Check("order of joint targets", verdict, advised(words, verdict, TRAIN), {"spread": spread})
