"""The settings of a sampler of a Gaussian process's hyper-parameters, and its result for one dataset."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.gp.gamma_coordinates import GammaCoordinates
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess


@dataclass(frozen=True)
class GPChainSettings:
    """How long a sampler runs on one dataset, and from which seed."""

    num_samples: int
    num_warmup: int
    seed: int


@dataclass(frozen=True)
class GPChain:
    """One chain: its position after each step that followed the warm-up."""

    positions: Float[Tensor, "samples 3"]
    """Positions in the coordinates of `hyper_coordinates`."""
    num_divergences: int
    is_cut_short: bool
    """Whether the time limit came before all samples."""


GPSampler = Callable[[Float[Tensor, "context context"], Float[Tensor, " context"], Deadline], GPChain]
"""Runs a chain for a dataset: the distances between its inputs, its targets, and until when."""


def hyper_coordinates(prior: HyperGaussianProcess) -> GammaCoordinates:
    """The coordinates of lengthscale, outputscale and the noise above its floor, in this order."""
    return GammaCoordinates.of(prior.lengthscale_prior, prior.outputscale_prior, prior.noise_prior)


def start_position(coordinates: GammaCoordinates) -> Float[Tensor, "3"]:
    """The start of each chain, which is the mean of each prior.

    For a noise of Gamma(1e-4, 1) that is 1e-4, where the likelihood still has a slope: the chain goes from there to
    where the data want it, with noise or without. From a draw of the prior it would never find a noise.
    """
    return coordinates.position(coordinates.concentration / coordinates.rate)
