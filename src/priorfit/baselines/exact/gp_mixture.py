"""The predictive of a Gaussian process of many weighted hyper-parameters: a mixture of Normals."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.priors.gaussian_process import cholesky
from priorfit.priors.hyper_gaussian_process import Hyperparameters

CHUNK = 2**16
"""Matrix entries that are processed at once: about as many as a cache holds."""


def gp_mixture(
    kernel: str,
    hyperparameters: Hyperparameters,
    log_weights: Float[Tensor, "*batch draws"],
    context: tuple[Float[Tensor, "*batch context features"], Float[Tensor, "*batch context"]],
    query_x: Float[Tensor, "*batch query features"],
) -> NormalMixture:
    """The distribution of y at each query, noise included: one component for each draw, in the dtype of the queries.

    Args:
        kernel: the name of the kernel.
        hyperparameters: draws for each dataset, ``(*batch, draws)``.
        log_weights: log weights of these draws, up to a constant of each dataset; -inf excludes a draw.
        context: inputs and targets.
        query_x: the inputs of the queries.
    """
    num_axes, num_draws = log_weights.ndim - 1, log_weights.shape[-1]
    shape = (*log_weights.shape[:-1], query_x.shape[-2], num_draws)
    datasets = zip(*(flat(t.double(), num_axes) for t in (*context, query_x)), strict=True)
    parts = hyperparameters.lengthscale, hyperparameters.outputscale, hyperparameters.noise
    draws = Hyperparameters(*(flat(part, num_axes) for part in parts))
    answers = [conditional(kernel, draws[i], *dataset) for i, dataset in enumerate(datasets)]
    loc, scale = (torch.stack(each).mT.reshape(shape).to(query_x.dtype) for each in zip(*answers, strict=True))
    logits = log_weights[..., None, :].to(query_x.dtype)  # (*batch, 1, draws)
    return NormalMixture(logits, loc, scale, validate_args=False)


def conditional(
    kernel: str,
    draws: Hyperparameters,
    x: Float[Tensor, "context features"],
    y: Float[Tensor, " context"],
    query_x: Float[Tensor, "query features"],
) -> tuple[Float[Tensor, "draws query"], Float[Tensor, "draws query"]]:
    """Mean and standard deviation of y at each query under each draw."""
    locs, scales = [], []
    for rows in chunks(len(draws.noise), len(x) * max(len(x), len(query_x))):
        some = draws[rows]
        factor = cholesky(some.noisy_covariance(kernel, x))  # (chunk, context, context)
        cross = some.covariance(kernel, x, query_x)  # (chunk, context, query)
        known = torch.cat([cross, y[:, None].expand(len(cross), -1, 1)], dim=-1)  # (chunk, context, query + 1)
        white = torch.linalg.solve_triangular(factor, known, upper=False)
        white_x, white_y = white[..., :-1], white[..., -1:]
        locs.append((white_x * white_y).sum(-2))  # (chunk, query)
        unexplained = (some.outputscale[:, None] - white_x.square().sum(-2)).clamp_min(0)
        scales.append((unexplained + some.noise[:, None]).sqrt())
    return torch.cat(locs), torch.cat(scales)


def chunks(count: int, entries: int) -> list[slice]:
    """Slices of ``count`` matrices with a given number of entries each."""
    size = max(1, CHUNK // max(1, entries))
    return [slice(start, start + size) for start in range(0, count, size)]


def flat(tensor: Float[Tensor, "..."], num_batch_axes: int) -> Float[Tensor, "..."]:
    """Flatten all batch axes into one, also where there is none, or no points."""
    batch, rest = tensor.shape[:num_batch_axes], tensor.shape[num_batch_axes:]
    return tensor.reshape(math.prod(batch), *rest)
