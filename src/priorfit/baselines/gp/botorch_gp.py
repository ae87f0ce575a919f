"""The most probable hyper-parameters of a Gaussian process for one dataset, by BoTorch.

The objective is p(y | hyper-parameters) times the density of their priors: of lengthscale and outputscale themselves,
as always in BoTorch, and of the noise in a form that can be maximised. The noise variance is the floor plus a Gamma
draw, and at a concentration below 1 the density of a draw is infinite at 0: by density alone no data could ever show
a noise. The density of the draw's logarithm is finite, but it forgets that nearly all draws of a Gamma(1e-4, 1) are 0
to any instrument: by that one, half of the paper's datasets of five points are noisy, where one in 800 is. So
there are two hypotheses. Draws below a hundredth of the floor, which no data can tell from 0, are one: no draw, with
the probability that they have together. All others are compared by the density of their logarithm. There is a fit for
each, and the more probable one answers.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.deadline import Deadline
from priorfit.errors import FitError
from priorfit.extras import needs_extra
from priorfit.priors.hyper_gaussian_process import Gamma, HyperGaussianProcess

with needs_extra("baselines"), warnings.catch_warnings():
    # linear_operator, below GPyTorch, is compiled by what torch now calls deprecated
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
    from botorch import fit_gpytorch_mll
    from botorch.exceptions import ModelFittingError, OptimizationWarning
    from botorch.models import SingleTaskGP
    from botorch.optim.fit import fit_gpytorch_mll_scipy
    from gpytorch.constraints import Positive
    from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
    from gpytorch.likelihoods import GaussianLikelihood
    from gpytorch.likelihoods.noise_models import HomoskedasticNoise
    from gpytorch.means import ZeroMean
    from gpytorch.mlls import ExactMarginalLogLikelihood
    from gpytorch.priors import GammaPrior
    from gpytorch.settings import fast_computations

NEGLIGIBLE = 0.01
"""A noise draw below this share of the floor counts as 0."""

KERNELS: Mapping[str, Any] = MappingProxyType(
    {
        "rbf": RBFKernel,
        "matern12": partial(MaternKernel, nu=0.5),
        "matern32": partial(MaternKernel, nu=1.5),
        "matern52": partial(MaternKernel, nu=2.5),
    }
)
"""The kernels of `priorfit.priors.kernels` in GPyTorch."""

Module = Any
"""A module of GPyTorch, whose parts type checkers do not know."""


@dataclass(frozen=True)
class MapFit:
    """The hyper-parameters of a maximum."""

    lengthscale: float
    outputscale: float
    noise: float
    """The variance: the floor and the draw."""
    log_posterior: float
    """The objective, up to a constant that both hypotheses share."""


class FlooredNoise(HomoskedasticNoise):
    """A noise variance of exactly the floor plus a draw; ``raw_noise`` is the logarithm of the draw."""

    raw_noise: Tensor

    def __init__(self, floor: float) -> None:
        exponential: Any = torch.exp  # GPyTorch's annotation knows only its default
        super().__init__(noise_constraint=Positive(transform=exponential, inv_transform=torch.log))
        self.floor = floor

    @property
    def draw(self) -> Float[Tensor, "1"]:
        """The noise variance above the floor."""
        return self.raw_noise.exp()

    @property
    def noise(self) -> Float[Tensor, "1"]:  # pyright: ignore[reportIncompatibleMethodOverride]: nobody sets it
        """See `HomoskedasticNoise`."""
        return self.floor + self.draw


def most_probable(
    prior: HyperGaussianProcess, x: Float[Tensor, "context features"], y: Float[Tensor, " context"], deadline: Deadline
) -> MapFit:
    """The better of both hypotheses; the one with a draw is left out when the time is up before its turn."""
    found = []
    log_none = log_probability_of_none(prior)
    if log_none > -math.inf:
        half = deadline if deadline.left is None else Deadline(max(deadline.left / 2, 1e-9))
        found.append(_fitted(_without_draw(prior, x, y), log_none, half))
    if not found or not deadline.is_past:
        law = prior.noise_prior
        found.append(_fitted(_with_draw(prior, x, y), math.log(law.concentration / law.rate), deadline))
    return max(found, key=lambda fit: fit.log_posterior)


def prior_modes(prior: HyperGaussianProcess) -> MapFit:
    """The better of both hypotheses before any data."""
    law = prior.noise_prior
    log_none = log_probability_of_none(prior)
    log_density = law.concentration * (math.log(law.concentration) - 1) - math.lgamma(law.concentration)
    draw = 0.0 if log_none >= log_density else law.concentration / law.rate
    scales = _mode(prior.lengthscale_prior), _mode(prior.outputscale_prior)
    return MapFit(*scales, noise=prior.noise_floor + draw, log_posterior=max(log_none, log_density))


def log_probability_of_none(prior: HyperGaussianProcess) -> float:
    """The log prior probability of a noise draw that no data can tell from 0."""
    law = prior.noise_prior
    concentration, level = torch.tensor(
        [law.concentration, law.rate * NEGLIGIBLE * prior.noise_floor], dtype=torch.float64
    )
    return float(torch.special.gammainc(concentration, level).log())


def _without_draw(
    prior: HyperGaussianProcess, x: Float[Tensor, "context features"], y: Float[Tensor, " context"]
) -> Module:
    model = _model(prior, x, y)
    model.likelihood.noise_covar.raw_noise.requires_grad_(False).fill_(-math.inf)
    return model


def _with_draw(
    prior: HyperGaussianProcess, x: Float[Tensor, "context features"], y: Float[Tensor, " context"]
) -> Module:
    """A model whose draw starts at its mean, the mode of its logarithm.

    The density of the logarithm of a Gamma(a, rate) is a / rate times the density of a Gamma(a + 1, rate) at the draw.
    """
    model, law = _model(prior, x, y), prior.noise_prior
    noise = model.likelihood.noise_covar
    noise.initialize(raw_noise=torch.full_like(noise.raw_noise, math.log(law.concentration / law.rate)))
    noise.register_prior(
        "draw_prior",
        _gamma(Gamma(law.concentration + 1, law.rate)),
        lambda module: module.draw,
        lambda module, draw: module.initialize(raw_noise=draw.log()),
    )
    return model


def _model(prior: HyperGaussianProcess, x: Float[Tensor, "context features"], y: Float[Tensor, " context"]) -> Module:
    """A model at the modes of its scales."""
    likelihood: Module = GaussianLikelihood()
    likelihood.noise_covar = FlooredNoise(prior.noise_floor)
    shape = KERNELS[prior.kernel](lengthscale_prior=_gamma(prior.lengthscale_prior))
    model: Module = SingleTaskGP(
        x,
        y[:, None],
        likelihood=likelihood,
        covar_module=ScaleKernel(shape, outputscale_prior=_gamma(prior.outputscale_prior)),
        mean_module=ZeroMean(),
        outcome_transform=None,
    )
    shape.lengthscale = x.new_tensor(_mode(prior.lengthscale_prior))
    model.covar_module.outputscale = x.new_tensor(_mode(prior.outputscale_prior))
    return model


def _fitted(model: Module, log_factor: float, deadline: Deadline) -> MapFit:
    """The maximum that L-BFGS-B finds; ``log_factor`` is what the objective of BoTorch lacks."""
    objective: Module = ExactMarginalLogLikelihood(model.likelihood, model)
    lowest = math.log(NEGLIGIBLE * model.likelihood.noise_covar.floor)

    def optimiser(objective: Module, **kwargs: Any) -> Any:
        bounds: dict[str, tuple[float | None, float | None]] = {"likelihood.noise_covar.raw_noise": (lowest, None)}
        return fit_gpytorch_mll_scipy(objective, bounds=bounds, timeout_sec=deadline.left, **kwargs)

    # exact at any size; gradients also where the caller has turned them off
    with fast_computations(False, False, False), torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimizationWarning)  # a failed attempt is repeated, and the last one raises
        try:
            fit_gpytorch_mll(objective, optimizer=optimiser)
        except ModelFittingError as error:
            raise FitError(
                f"MLE2GP could not fit a dataset of {len(model.train_targets)} points: all attempts of BoTorch failed. "
                "Check that the targets are such as the prior draws; a larger noise_floor makes fits more stable."
            ) from error
    return _found(objective.train(), log_factor)


@torch.no_grad()
def _found(objective: Module, log_factor: float) -> MapFit:
    model = objective.model
    with fast_computations(False, False, False):
        mean_value = objective(model(*model.train_inputs), model.train_targets)  # the mean over the points
    return MapFit(
        lengthscale=float(model.covar_module.base_kernel.lengthscale),
        outputscale=float(model.covar_module.outputscale),
        noise=float(model.likelihood.noise),
        log_posterior=float(mean_value) * len(model.train_targets) + log_factor,
    )


def _gamma(law: Gamma) -> Module:
    """A Gamma prior in float64: rounded to float32, a concentration of 1.0001 would be another number."""
    concentration, rate = torch.tensor([law.concentration, law.rate], dtype=torch.float64)
    return GammaPrior(concentration, rate)


def _mode(law: Gamma) -> float:
    return (law.concentration - 1) / law.rate
