"""All weights and biases of a `BayesianNetwork` as one vector: what samplers move, and what they give."""

from collections.abc import Iterator
from typing import Any

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.priors.bayesian_network import BayesianNetwork


def check_samplable(prior: BayesianNetwork, baseline: str) -> None:
    """Refuse a prior whose posterior is no density over weights of one shape."""
    if prior.architecture is not None:
        raise InputError(
            f"{baseline} samples the weights of one architecture; got a prior that draws another for each dataset. "
            "Give a BayesianNetwork without architecture."
        )
    if prior.noise == 0 and not isinstance(prior.outcome, Classes):
        raise InputError(f"{baseline} needs real targets with noise above 0; got noise = 0, which has no density.")


def num_weights(prior: BayesianNetwork) -> int:
    """How long the vector is.

    >>> num_weights(BayesianNetwork(num_features=3, hidden=(5,), outcome=Classes(2)))
    32
    """
    return sum((before + 1) * after for before, after in prior.layer_shapes)


def layers(prior: BayesianNetwork, weights: Any) -> Iterator[tuple[Any, Any]]:
    """The weights (*samples, in, out) and biases (*samples, 1, out) of each layer, from vectors (*samples, weights).

    The vectors are tensors of torch or arrays of JAX: both are cut and reshaped alike.
    """
    start = 0
    for before, after in prior.layer_shapes:
        stop = start + (before + 1) * after
        layer = weights[..., start:stop].reshape(*weights.shape[:-1], before + 1, after)
        yield layer[..., :-1, :], layer[..., -1:, :]
        start = stop
