"""Whether each dataset has latents of its own: many batches at one x, between batches against within."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.priors.checks.draws import Draws, targets_at
from priorfit.priors.checks.ranks import LARGEST_Z, fisher_ratios, fisher_z, ranks
from priorfit.priors.prior import Prior
from priorfit.seeding import seeded


def faults_of_independence(prior: Prior, draws: Draws) -> Iterator[str]:
    """Datasets of one batch that are positively or negatively dependent, unless the prior says so."""
    if prior.shares_latents:
        return
    with seeded(draws.seed, 1):
        x = prior.inputs.sample(1, draws.num_points, prior.num_features)
        repeated = x.expand(draws.num_batches * draws.batch_size, -1, -1)
        y = targets_at(prior, repeated, draws.batch_size).unflatten(0, (draws.num_batches, draws.batch_size))
    if bool((y == y[0, 0]).all()):
        yield "every dataset has the same targets at the same inputs: the prior draws nothing. Draw its latents."
        return
    high, low = float(batch_ratios(y).max()), float(raw_batch_ratios(y).min())
    sizes = (draws.num_batches, draws.batch_size)
    if fisher_z(high, *sizes) > LARGEST_Z:
        yield (
            f"datasets of one batch are alike: at the same inputs, batches differ at least {min(high, 999):.3g} "
            "times as much as they would if each dataset had its own latents. Draw each latent with shape (len(x), 1), "
            "one for each dataset, not once for the whole batch."
        )
    elif fisher_z(low, *sizes) < -LARGEST_Z:
        yield (
            f"datasets of one batch make up for each other: at the same inputs, batches differ only {low:.2g} times "
            "as much as they would if their datasets were independent. Use no statistic of the whole batch, such as "
            "y.mean() or y.std(0): no dataset may know of the others."
        )


def batch_ratios(y: Float[Tensor, "batches batch points"]) -> Float[Tensor, " feature"]:
    """F ratios, one for each feature of a dataset, of the variance between batches to that within.

    They are about 1 where all datasets are independent, and grow with the batch size where something is shared. The
    features are those that noise at single points does not hide: the targets, their main
    directions, mean and spread, squares and neighbouring products (a shared scale or wiggliness has no mean).
    They are ranked, so that heavy tails do not matter.
    """
    return fisher_ratios(ranks(_features(y.flatten(0, 1))).unflatten(0, y.shape[:2]))


def raw_batch_ratios(y: Float[Tensor, "batches batch points"]) -> Float[Tensor, " feature"]:
    """The F ratios without ranks: where a batch fixes the sum of its targets, the sum of their ranks still varies."""
    return fisher_ratios(_features(y.flatten(0, 1)).unflatten(0, y.shape[:2]))


def _features(y: Float[Tensor, "datasets points"]) -> Float[Tensor, "datasets feature"]:
    centred = y - y.mean(0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:8]  # (direction, points)
    return torch.cat(
        [
            y,
            centred @ directions.mT,
            y.mean(-1, keepdim=True),
            y.std(-1, keepdim=True),
            centred.square(),
            centred[:, 1:] * centred[:, :-1],
            centred.square().mean(-1, keepdim=True),
            (centred[:, 1:] * centred[:, :-1]).mean(-1, keepdim=True),
        ],
        dim=-1,
    )
