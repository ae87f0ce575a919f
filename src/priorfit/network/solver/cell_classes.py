"""The mixture of the class probabilities of many cells as a first guess."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical

from priorfit.network.solver.cell_guess import largest
from priorfit.network.solver.mixtures import LEAST_LOG_WEIGHT, TOKEN_SCALE
from priorfit.network.solver.solver import FirstGuess


def class_guess_of(
    log_weights: Float[Tensor, "batch kept points"],
    log_probs: Float[Tensor, "batch kept classes points"],
    like: tuple[int, torch.dtype],
) -> FirstGuess:
    """A mixture over cells; no number that tokens are told of depends on the number of classes.

    Of the cells of the largest weights they are told the entropy and the probability of the class that the mixture
    holds for the most likely; of the mixture the same, how much the cells disagree, and how many there are.
    """
    shown, dtype = like
    place, top_weights = largest(log_weights, shown)
    log_weights = log_weights.to(log_probs.dtype)
    logits = (log_weights[:, :, None] + log_probs).logsumexp(1)  # (batch, classes, points)
    best = logits.argmax(1, keepdim=True)
    own = log_probs.gather(2, best[:, None].expand(-1, log_probs.shape[1], -1, -1))[:, :, 0].exp()
    entropies = -(log_probs.exp() * log_probs).sum(2)  # (batch, kept, points)
    entropy = -(logits.exp() * logits).sum(1, keepdim=True)
    unsure = entropy - (log_weights.exp() * entropies).sum(1, keepdim=True)
    size = -(2 * log_weights).logsumexp(1, keepdim=True)  # log effective number of cells
    is_there = top_weights > LEAST_LOG_WEIGHT  # whatever else was kept for other datasets of the batch
    top_own = torch.where(is_there, own.gather(1, place), 0.0)
    top_entropies = torch.where(is_there, entropies.gather(1, place), 0.0)
    told = [top_own, top_entropies, top_weights / TOKEN_SCALE, logits.amax(1, keepdim=True), entropy, unsure, size]
    features = torch.cat([each.to(dtype) for each in told], dim=1).mT
    return FirstGuess(Categorical(logits=logits.mT, validate_args=False), features)
