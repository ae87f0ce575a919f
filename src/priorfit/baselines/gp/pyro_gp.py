"""Pyro's NUTS on the hyper-parameters of a Gaussian process."""

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.gp.chain import GPChain, GPChainSettings, GPSampler, hyper_coordinates, start_position
from priorfit.baselines.gp.gamma_coordinates import GammaCoordinates
from priorfit.baselines.pyro_nuts import inference, run
from priorfit.extras import needs_extra
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess
from priorfit.priors.kernels import KERNELS

with needs_extra("baselines"):
    from pyro.infer import NUTS

SITE = "position"


def sampler(prior: HyperGaussianProcess, settings: GPChainSettings, num_context: int) -> GPSampler:
    """A sampler for any dataset: Pyro has nothing to prepare for ``num_context`` points."""
    coordinates = hyper_coordinates(prior)

    def run_chain(
        distances: Float[Tensor, "context context"], y: Float[Tensor, " context"], deadline: Deadline
    ) -> GPChain:
        def potential(state: dict[str, Tensor]) -> Float[Tensor, ""]:
            return -_log_joint(prior, coordinates, state[SITE], distances, y)

        kernel = NUTS(potential_fn=potential)
        kernel.initial_params = {SITE: start_position(coordinates)}
        with inference(settings.seed):
            visited = run(kernel, SITE, (settings.num_warmup, settings.num_samples), [], deadline)
        if visited is None:
            raise deadline.missed("NutsGP", "warm-up")
        is_cut_short = len(visited.positions) < settings.num_samples
        return GPChain(visited.positions, visited.num_divergences, is_cut_short)

    return run_chain


def _log_joint(
    prior: HyperGaussianProcess,
    coordinates: GammaCoordinates,
    z: Float[Tensor, "3"],
    distances: Float[Tensor, "context context"],
    y: Float[Tensor, " context"],
) -> Float[Tensor, ""]:
    """log p(z, y), up to a constant, with the function values integrated out."""
    lengthscale, outputscale, draw = coordinates.draw(z)
    noise = (prior.noise_floor + draw) * torch.eye(len(y), dtype=torch.float64)
    factor = torch.linalg.cholesky(outputscale * KERNELS[prior.kernel](distances / lengthscale) + noise)
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    log_evidence = -white.square().sum() / 2 - factor.diagonal().log().sum()
    return log_evidence + coordinates.log_density(z).sum()
