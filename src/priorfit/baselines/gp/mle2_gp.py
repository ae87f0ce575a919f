"""The Gaussian process of the most probable hyper-parameters, by BoTorch."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor
from torch.distributions import Normal

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.exact.gp_mixture import gp_mixture
from priorfit.baselines.gp.botorch_gp import MapFit, most_probable, prior_modes
from priorfit.baselines.one_by_one import one_by_one
from priorfit.errors import InputError
from priorfit.priors.hyper_gaussian_process import HyperGaussianProcess, Hyperparameters
from priorfit.seeding import seeded


@dataclass(frozen=True)
class MLE2GPPosterior:
    """A GP of fitted hyper-parameters that has seen a context, in float64; gradients flow to the queries alone."""

    kernel: str
    context_x: Float[Tensor, "*batch context features"]
    context_y: Float[Tensor, "*batch context"]
    hyperparameters: Hyperparameters
    """The most probable ones: ``(*batch)``."""
    is_cut_short: Bool[Tensor, "*batch"]
    """Whether the time limit was reached: these are then the best that were found so far."""

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> Normal:
        """The distribution of y at each query, noise included."""
        found = self.hyperparameters
        only_draw = Hyperparameters(*(part[..., None] for part in (found.lengthscale, found.outputscale, found.noise)))
        context = self.context_x, self.context_y
        only = gp_mixture(self.kernel, only_draw, torch.zeros_like(only_draw.noise), context, query_x)
        return Normal(only.loc[..., 0], only.scale[..., 0], validate_args=False)


@dataclass(frozen=True)
class MLE2GP:
    """A Gaussian process of the most probable hyper-parameters of a `HyperGaussianProcess`: MLE-II in the paper.

    BoTorch's SingleTaskGP with the prior's own kernel, zero mean and noise, fitted by L-BFGS-B in float64 from the
    modes of the priors; no inputs or outcomes are rescaled. A fit that fails is tried again from draws of the priors,
    and after five attempts it is an error (`FitError`). An empty context is answered by the modes of the priors.

    Args:
        prior: the concentrations of its lengthscale and outputscale must exceed 1, or they have no mode.
        seed: of the draws that further attempts start from.
        time_limit: seconds for one dataset; when it is over, the best hyper-parameters so far answer.

    >>> prior = HyperGaussianProcess()
    >>> tasks = prior.sample(batch_size=2, num_points=8).split(num_context=5)
    >>> posterior = MLE2GP(prior).condition(tasks.context_x, tasks.context_y)
    >>> posterior.predict(tasks.query_x).mean.shape, posterior.hyperparameters.lengthscale.shape
    (torch.Size([2, 3]), torch.Size([2]))
    """

    prior: HyperGaussianProcess
    seed: int = 0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        Deadline(self.time_limit)
        for name in ("lengthscale_prior", "outputscale_prior"):
            concentration = getattr(self.prior, name).concentration
            if not concentration > 1:
                raise InputError(
                    f"MLE2GP needs the concentration of {name} above 1, or it has no mode; got {concentration}."
                )

    def condition(
        self,
        context_x: Float[Tensor, "*batch context features"],
        context_y: Num[Tensor, "*batch context"],
    ) -> MLE2GPPosterior:
        """See `Predictor.condition`; the fits happen here, one dataset after the other."""
        with torch.inference_mode(False):  # a copy made here can be differentiated, as fits must
            x, y = (part.detach().clone().double() for part in (context_x, context_y))
            fits = one_by_one(x.cpu(), y.cpu(), self._fit)
        found = [(fit.lengthscale, fit.outputscale, fit.noise) for fit, _ in fits]
        values = torch.tensor(found, dtype=torch.float64, device=x.device).reshape(*y.shape[:-1], 3)
        is_cut_short = torch.tensor([is_past for _, is_past in fits], dtype=torch.bool).reshape(y.shape[:-1])
        return MLE2GPPosterior(self.prior.kernel, x, y, Hyperparameters(*values.unbind(-1)), is_cut_short)

    def _fit(self, x: Float[Tensor, "context features"], y: Float[Tensor, " context"]) -> tuple[MapFit, bool]:
        """The fit of one dataset, and whether the time was up."""
        if len(y) == 0:
            return prior_modes(self.prior), False
        deadline = Deadline(self.time_limit)
        with seeded(self.seed):
            return most_probable(self.prior, x, y, deadline), deadline.is_past
