"""Whether the answers of cells on a learned law are contradicted by draws of the simulator itself.

Under a posterior of which data were truly drawn, the truth is seldom far less likely than before the data:
p(z) / p(z | data) has the expectation 1, so that it exceeds e^t with a probability of at most e^-t, whatever the prior.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.network import PFN
from priorfit.priors.program import ProgramPrior
from priorfit.seeding import seeded

DATASETS, SIZES, QUERIES = 24, (0.2, 0.6), 4
"""Datasets of each context size, which is a share of the points that are trained; and queries of each."""

CONTRADICTED = 12.0
"""Nats by which nothing may be less likely than before the data: chance alone does so in one of 160,000 cases."""


@torch.no_grad()
def contradiction(model: PFN, prior: ProgramPrior, num_points: int, seed: int) -> float:
    """The most nats by which a target or latent of a new dataset is less likely than before its data."""
    worst = -torch.inf
    for size in (max(1, round(share * num_points)) for share in SIZES):
        with seeded(seed, size):
            drawn = prior.sample(DATASETS, size + QUERIES)
        tasks = drawn.split(size)
        after = log_densities(model, tasks.context_x, tasks.context_y, tasks.query_x, tasks.query_y, drawn.latents)
        no_x, no_y = tasks.context_x[:, :0], tasks.context_y[:, :0]
        before = log_densities(model, no_x, no_y, tasks.query_x, tasks.query_y, drawn.latents)
        fallen = (before - after).nan_to_num(torch.inf, torch.inf, -torch.inf)
        worst = max(worst, float(fallen.max()))
    return worst


def log_densities(
    model: PFN, x: Tensor, y: Tensor, query_x: Tensor, query_y: Tensor, latents: Mapping[str, Tensor]
) -> Float[Tensor, "datasets numbers"]:
    """The log density of each query and of each number of the latents."""
    posterior = model.condition(x, y)
    found = [posterior.predict(query_x).log_prob(query_y).double()]
    if model.latent_parts is not None:
        found += [
            law.log_prob(latents[name].double().reshape(len(x), *law.batch_shape[1:])).reshape(len(x), -1)
            for name, law in posterior.latents.items()
        ]
    return torch.cat(found, dim=1)
