"""Pyro's NUTS on the hyper-parameters of a Gaussian process."""

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.gamma_coordinates import GammaCoordinates
from priorfit.baselines.gp_chain import GPChain, GPChainSettings, GPSampler, hyper_coordinates, start_position
from priorfit.extras import needs_extra
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess
from priorfit.priors.kernels import KERNELS
from priorfit.seeding import seeded

with needs_extra("baselines"):
    import pyro
    from pyro.infer import NUTS

SITE = "position"


def sampler(prior: HyperGaussianProcess, settings: GPChainSettings, num_context: int) -> GPSampler:
    """A sampler for any dataset: Pyro has nothing to prepare for ``num_context`` points."""
    coordinates = hyper_coordinates(prior)

    def run(distances: Float[Tensor, "context context"], y: Float[Tensor, " context"], deadline: Deadline) -> GPChain:
        def potential(state: dict[str, Tensor]) -> Float[Tensor, ""]:
            return -_log_joint(prior, coordinates, state[SITE], distances, y)

        return _chain(NUTS(potential_fn=potential), start_position(coordinates), settings, deadline)

    return run


def _chain(kernel: NUTS, start: Float[Tensor, "3"], settings: GPChainSettings, deadline: Deadline) -> GPChain:
    """The steps of Pyro's ``MCMC``, with a look at the clock after each."""
    positions = []
    # gradients also where the caller has turned them off; NaN on the way are divergences, as in Pyro's MCMC
    with seeded(settings.seed), torch.enable_grad(), pyro.validation_enabled(False):
        kernel.initial_params = {SITE: start}
        kernel.setup(settings.num_warmup)
        state = kernel.initial_params
        for _ in range(settings.num_warmup):
            state = kernel.sample(state)
            if deadline.is_past:
                raise deadline.missed("NutsGP", "warm-up")
        for _ in range(settings.num_samples):
            state = kernel.sample(state)
            positions.append(state[SITE].detach())
            if deadline.is_past:
                break
    return GPChain(
        positions=torch.stack(positions),
        num_divergences=len(kernel.diagnostics()["divergences"]),
        is_cut_short=len(positions) < settings.num_samples,
    )


def _log_joint(
    prior: HyperGaussianProcess,
    coordinates: GammaCoordinates,
    z: Float[Tensor, "3"],
    distances: Float[Tensor, "context context"],
    y: Float[Tensor, " context"],
) -> Float[Tensor, ""]:
    """log p(z, y), but for a constant, with the function values integrated out."""
    lengthscale, outputscale, draw = coordinates.draw(z)
    noise = (prior.noise_floor + draw) * torch.eye(len(y), dtype=torch.float64)
    factor = torch.linalg.cholesky(outputscale * KERNELS[prior.kernel](distances / lengthscale) + noise)
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    log_evidence = -white.square().sum() / 2 - factor.diagonal().log().sum()
    return log_evidence + coordinates.log_density(z).sum()
