"""The No-U-Turn sampler on the hyper-parameters of a Gaussian process, by Pyro as in the paper, or by NumPyro."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.exact.gp_mixture import gp_mixture
from priorfit.baselines.gp.chain import GPChain, GPChainSettings, GPSampler, hyper_coordinates
from priorfit.baselines.one_by_one import one_by_one
from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.errors import InputError
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess, Hyperparameters
from priorfit.priors.kernels import distances

BACKENDS = ("pyro", "numpyro")


@dataclass(frozen=True)
class NutsGPPosterior:
    """Hyper-parameters sampled after a context, in float64; gradients flow to the queries alone."""

    kernel: str
    context_x: Float[Tensor, "*batch context features"]
    context_y: Float[Tensor, "*batch context"]
    hyperparameters: Hyperparameters
    """``(*batch, samples)``; a dataset that was cut short has its last sample repeated to the common length."""
    log_weights: Float[Tensor, "*batch samples"]
    """0 for a sample, -inf for such a repetition."""
    num_divergences: Int[Tensor, "*batch"]
    """How many steps after the warm-up diverged."""
    is_cut_short: Bool[Tensor, "*batch"]
    """Whether the time limit came before all samples."""
    compile_seconds: float
    """Seconds of compilation, outside of the time limit; near 0 where datasets of similar size came before."""

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> NormalMixture:
        """The distribution of y at each query, noise included: one component of equal weight for each sample."""
        context = self.context_x, self.context_y
        return gp_mixture(self.kernel, self.hyperparameters, self.log_weights, context, query_x)


@dataclass(frozen=True)
class NutsGP:
    """The posterior of a `HyperGaussianProcess` by NUTS on its hyper-parameters: the strong baseline.

    The function values are integrated out, so one chain of float64 moves in three dimensions. It does so in the
    coordinates of `gamma_coordinates`, in which the prior is nearly a standard Normal, and starts at the prior's
    means. Where the posterior has two modes, with noise and without, one chain of this length stays in
    one of them. The paper used Pyro. NumPyro runs the same algorithm in compiled code, many times faster; the first
    dataset of each size, rounded up to a multiple of 8, waits for the compiler.

    Args:
        prior: the prior whose hyper-parameters are sampled.
        num_samples: number of samples of the one chain.
        num_warmup: None for as many as there are samples, as in the paper.
        backend: "numpyro" or "pyro".
        seed: the same for every dataset, so an answer does not depend on the batch.
        time_limit: seconds for one dataset, without the time to compile. If it ends after the warm-up, the samples
            so far are the answer; if before, it is an error.

    >>> prior = HyperGaussianProcess()
    >>> tasks = prior.sample(batch_size=2, num_points=8).split(num_context=5)
    >>> posterior = NutsGP(prior, num_samples=8, backend="pyro").condition(tasks.context_x, tasks.context_y)
    >>> posterior.predict(tasks.query_x).mean.shape, posterior.hyperparameters.noise.shape
    (torch.Size([2, 3]), torch.Size([2, 8]))
    """

    prior: HyperGaussianProcess
    num_samples: int = 256
    num_warmup: int | None = None
    backend: Literal["pyro", "numpyro"] = "numpyro"
    seed: int = 0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Check the fields, and that the backend is installed."""
        Deadline(self.time_limit)
        for name in ("num_samples", "num_warmup"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise InputError(f"{name} must be at least 1; got {count}.")
        if self.backend not in BACKENDS:
            raise InputError(f"backend must be one of {', '.join(BACKENDS)}; got {self.backend!r}.")
        _backend(self.backend)

    def condition(
        self,
        context_x: Float[Tensor, "*batch context features"],
        context_y: Num[Tensor, "*batch context"],
    ) -> NutsGPPosterior:
        """See `Predictor.condition`; all sampling happens here, one dataset after the other."""
        num_warmup = self.num_samples if self.num_warmup is None else self.num_warmup
        settings = GPChainSettings(self.num_samples, num_warmup, self.seed)
        with torch.inference_mode(False):  # what is made here can be differentiated, as samplers must
            x, y = (part.detach().clone().double() for part in (context_x, context_y))
            before = time.perf_counter()
            sampler: GPSampler = _backend(self.backend).sampler(self.prior, settings, y.shape[-1])
            compile_seconds = time.perf_counter() - before
            chains = one_by_one(x.cpu(), y.cpu(), lambda x, y: sampler(distances(x, x), y, Deadline(self.time_limit)))
        samples, log_weights = _joined(self.prior, chains, y)
        return NutsGPPosterior(
            kernel=self.prior.kernel,
            context_x=x,
            context_y=y,
            hyperparameters=samples,
            log_weights=log_weights,
            num_divergences=torch.tensor([each.num_divergences for each in chains]).reshape(y.shape[:-1]),
            is_cut_short=torch.tensor([each.is_cut_short for each in chains], dtype=torch.bool).reshape(y.shape[:-1]),
            compile_seconds=compile_seconds,
        )


def _backend(name: str):
    """The module of a backend: only the one that is asked for needs to be installed."""
    return import_module(f"priorfit.baselines.gp.{name}_gp")


def _joined(
    prior: HyperGaussianProcess, chains: Sequence[GPChain], y: Float[Tensor, "*batch context"]
) -> tuple[Hyperparameters, Float[Tensor, "*batch samples"]]:
    """The hyper-parameters of all datasets and their log weights, on the device of ``y``."""
    longest = max((len(chain.positions) for chain in chains), default=1)
    positions = torch.zeros(len(chains), longest, 3, dtype=torch.float64)
    log_weights = torch.full((len(chains), longest), -torch.inf, dtype=torch.float64)
    for i, chain in enumerate(chains):
        count = len(chain.positions)
        positions[i] = chain.positions[torch.arange(longest).clamp_max(count - 1)]
        log_weights[i, :count] = 0
    draws = hyper_coordinates(prior).draw(positions).to(y.device)  # (datasets, longest, 3)
    draws = draws.reshape(*y.shape[:-1], longest, 3)
    samples = Hyperparameters(draws[..., 0], draws[..., 1], prior.noise_floor + draws[..., 2])
    return samples, log_weights.to(y.device).reshape(*y.shape[:-1], longest)
