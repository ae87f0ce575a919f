"""What a sampler of a Gaussian process's hyper-parameters is asked for, and what it gives for one dataset."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.gamma_coordinates import GammaCoordinates
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess


@dataclass(frozen=True)
class GPChainSettings:
    """The work on one dataset."""

    num_samples: int
    num_warmup: int
    seed: int


@dataclass(frozen=True)
class GPChain:
    """One chain: where it was after each step that followed the warm-up."""

    positions: Float[Tensor, "samples 3"]
    """In the `hyper_coordinates`."""
    num_divergences: int
    is_cut_short: bool
    """Whether the time limit came before all samples."""


GPSampler = Callable[[Float[Tensor, "context context"], Float[Tensor, " context"], Deadline], GPChain]
"""Runs a chain for a dataset: the distances between its inputs, its targets, and until when."""


def hyper_coordinates(prior: HyperGaussianProcess) -> GammaCoordinates:
    """Those of lengthscale, outputscale and what is added to the noise floor, in this order."""
    return GammaCoordinates.of(prior.lengthscale_prior, prior.outputscale_prior, prior.noise_prior)


def start_position(coordinates: GammaCoordinates) -> Float[Tensor, "3"]:
    """Where each chain starts: at the mean of each prior.

    For a noise of Gamma(1e-4, 1) that is 1e-4, where the likelihood still has a slope: the chain goes from there to
    where the data want it, with noise or without. From a draw of the prior it would never find a noise.
    """
    return coordinates.position(coordinates.concentration / coordinates.rate)
