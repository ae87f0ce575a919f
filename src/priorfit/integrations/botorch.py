"""A network as a model of BoTorch: it conditions in one pass, and there is nothing to fit."""

import warnings
from copy import deepcopy
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from priorfit.distributions.joining import regrouped
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.integrations.botorch_posterior import Joint, PFNPosterior, PointAfterPoint
from priorfit.integrations.botorch_units import Inputs, Outcomes, Scaling, check_data, scaling_of
from priorfit.network import Model, Units
from priorfit.network.posterior import PFNPosterior as Conditioned
from priorfit.zoo import load

with needs_extra("botorch"), warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)  # of linear_operator
    from botorch.acquisition.objective import PosteriorTransform, ScalarizedPosteriorTransform
    from botorch.models.model import Model as BotorchModel
    from botorch.posteriors.posterior import Posterior
    from botorch.sampling.base import MCSampler


class PFNModel(BotorchModel):
    """A network that has seen the evaluations of an objective, for any acquisition function of BoTorch.

    ``model`` is a released model's name, a folder, or a model; it is used in the dtype and on the device of
    ``train_X (*batch, n, d)``. ``bounds (2, d)`` is the box of the problem, which is mapped onto the range of
    its training (by default that range itself); outcomes ``train_Y (*batch, n, 1)`` are shown in ``outcome_units``, by
    default with mean 0 and standard deviation 1, and mapped back exactly. Fantasies keep the units of the data.

    BoTorch maximises. To minimise, give acquisition functions
    ``posterior_transform=ScalarizedPosteriorTransform(weights=torch.tensor([-1.0]))``, or the negated outcomes.

    >>> x = torch.rand(8, 1, dtype=torch.float64)
    >>> model = PFNModel("gp-rbf-1d", x, (x - 0.3).square())
    >>> model.posterior(torch.rand(5, 3, 1, dtype=torch.float64)).mean.shape
    torch.Size([5, 3, 1])
    """

    def __init__(
        self,
        model: Model | str,
        train_X: Float[Tensor, "..."],
        train_Y: Float[Tensor, "..."],
        bounds: Float[Tensor, "..."] | None = None,
        outcome_units: Units | None = None,
    ) -> None:
        """Condition a network on the evaluations so far."""
        super().__init__()
        network = load(model) if isinstance(model, str) else model
        check_data(network, train_X, train_Y)
        scaling = scaling_of(network, train_X, train_Y, bounds, outcome_units)
        self._weights = (in_dtype_of(network, train_X),)
        self._show(scaling, train_X, train_Y)

    @property
    def network(self) -> Model:
        """The network; not a sub-module, since BoTorch goes through all of those at each call of an acquisition."""
        return self._weights[0]

    def _show(self, scaling: Scaling, x: Inputs, y: Outcomes) -> None:
        """Condition the network on data of the user."""
        self.scaling, self.train_X, self.train_Y = scaling, x, y
        self._shown = scaling.inputs(x), scaling.outcomes(y)
        self._conditioned = self.network.condition(*self._shown)
        self._has_joint = isinstance(self._conditioned, Conditioned) and self._conditioned.has_joint

    @property
    def num_outputs(self) -> int:
        """One outcome."""
        return 1

    @property
    def batch_shape(self) -> torch.Size:
        """See `Model.batch_shape`: one dataset for each."""
        return self.train_X.shape[:-2]

    def subset_output(self, idcs: list[int]) -> "PFNModel":
        """See `Model.subset_output`: there is one outcome."""
        if list(idcs) != [0]:
            raise InputError(f"PFNModel has one outcome, whose index is 0; got {idcs}.")
        return self

    def posterior(
        self,
        X: Float[Tensor, "*batch q columns"],
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> Posterior:
        """See `Model.posterior`: of the function at q points together, or of noisy observations of it.

        Networks with a solver for reals have a joint posterior in closed form, see `PFNPosterior.joint`; others are
        asked point after point, and their draws are noisy as data are. A tensor of noise levels is refused.
        """
        if isinstance(observation_noise, Tensor):
            raise InputError("PFNModel infers the noise; observation_noise must be True or False, not a tensor.")
        if output_indices is not None:
            self.subset_output(output_indices)
        if X.shape[-1] != self.train_X.shape[-1]:
            raise InputError(f"X must have the {self.train_X.shape[-1]} columns of train_X; got {tuple(X.shape)}.")
        answer = self.outcome(X, bool(observation_noise))
        if posterior_transform is None:
            return answer
        if isinstance(posterior_transform, ScalarizedPosteriorTransform):
            return answer.transformed(
                torch.as_tensor(posterior_transform.weights)[0].to(X), float(posterior_transform.offset)
            )
        return posterior_transform(answer, X)

    def outcome(self, x: Float[Tensor, "*batch q columns"], noise: bool = False) -> PFNPosterior:
        """The posterior of the outcome itself, before any transform."""
        shape = torch.broadcast_shapes(x.shape[:-2], self.batch_shape)
        x = x.expand(*shape, *x.shape[-2:])
        return PFNPosterior(self._joint(self.scaling.inputs(x), noise), self.scaling.units, x)

    def _joint(self, x: Inputs, noise: bool) -> Joint:
        """The joint predictive of q points, in the model's units."""
        if isinstance(self._conditioned, Conditioned) and self._has_joint:
            return self._conditioned.joint(x, noise)
        batch = x.shape[:-2]
        context_x, context_y = self._shown
        margins = self._margins(x)
        context_x = context_x.expand(*batch, *context_x.shape[-2:])
        return PointAfterPoint(self.network, context_x, context_y.expand(*batch, -1), x, margins)

    def _margins(self, x: Inputs) -> Distribution:
        """The predictive of each point; all that are asked of one dataset go through the network together."""
        sets = x.shape[: x.ndim - 2 - len(self.batch_shape)]
        if not sets:
            return self._conditioned.predict(x)
        together = x.flatten(0, len(sets) - 1).movedim(0, -3).flatten(-3, -2)
        return regrouped(self._conditioned.predict(together), sets)

    def condition_on_observations(
        self,
        X: Float[Tensor, "*#batch more columns"],
        Y: Float[Tensor, "*fantasies more 1"],
        **kwargs: Any,
    ) -> "PFNModel":
        """See `Model.condition_on_observations`: a new model that has seen more; units stay those of the first data."""
        shape = torch.broadcast_shapes(X.shape[:-2], Y.shape[:-2], self.batch_shape)
        x = torch.cat([part.expand(*shape, *part.shape[-2:]) for part in (self.train_X, X)], dim=-2)
        y = torch.cat([part.expand(*shape, *part.shape[-2:]) for part in (self.train_Y, Y)], dim=-2)
        check_data(self.network, x, y)
        longer = PFNModel.__new__(PFNModel)
        BotorchModel.__init__(longer)
        longer._weights = self._weights
        longer._show(self.scaling, x, y)
        return longer

    def fantasize(
        self,
        X: Inputs,
        sampler: MCSampler,
        observation_noise: Tensor | None = None,
        **kwargs: Any,
    ) -> "PFNModel":
        """See `FantasizeMixin.fantasize`: models that have seen noisy draws of the posterior at ``X``."""
        drawn = sampler(self.posterior(X, observation_noise=True if observation_noise is None else observation_noise))
        return self.condition_on_observations(X, drawn)


def in_dtype_of(network: Model, x: Inputs) -> Model:
    """A network for use in the dtype and on the device of some inputs, for numbers in its own units.

    The network given stays as it is. One that is as asked for already, such as ``pf.load(...).double()``, is not
    copied, so that a loop over many steps converts it once.
    """
    weights = list(network.parameters())
    fits = weights[0].dtype == x.dtype and weights[0].device == x.device
    is_frozen = not network.training and not any(weight.requires_grad for weight in weights)
    return (network if fits and is_frozen else deepcopy(network).to(x).frozen()).in_model_units()
