"""The predictive of several queries together: a solver's joint Gaussian, with the margins of the network."""

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution, constraints

from priorfit.distributions import affine
from priorfit.distributions.double import in_double
from priorfit.errors import ShapeError
from priorfit.network.solver.joint import JointNormals
from priorfit.values import Values, as_tensor

OUTERMOST = 1e-15
"""Levels of quantiles are kept this far from 0 and 1, about eight standard deviations: quantiles stay finite."""

LEAST_SCALE = 1e-6
"""Smallest factor by which a margin is narrowed: one of width 0 would have no density."""


class JointPredictive(Distribution):
    """The joint predictive of some queries; batch shape is that of the datasets, event shape ``(query,)``.

    A function is drawn from the solver's joint Gaussian (of one component, by its weight, where there are several);
    each value goes through the solver's own marginal cdf at that query, then through the quantile function of the
    network's margin. So margins are the network's, and the dependence is the solver's: a Gaussian copula where there is
    one component. Its density is in closed form and does not depend on the order of the queries.
    """

    arg_constraints = {}  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]: torch has a property
    support = constraints.real_vector  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
    has_rsample = True

    def __init__(self, normals: JointNormals, margins: Distribution) -> None:
        """Join ``normals`` over flattened datasets and ``margins`` of batch shape ``(*batch, query)``."""
        self.normals, self.margins = normals, margins
        super().__init__(margins.batch_shape[:-1], margins.batch_shape[-1:], validate_args=False)

    @property
    def mean(self) -> Float[Tensor, "*batch query"]:
        """See `Distribution.mean`."""
        return self.margins.mean

    @property
    def variance(self) -> Float[Tensor, "*batch query"]:
        """See `Distribution.variance`."""
        return self.margins.variance

    def sample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.sample`: the solver's weights are drawn once, whatever the number of queries."""
        shape = torch.Size(sample_shape)
        with torch.no_grad():
            return self._mapped(self.normals.functions(shape.numel())).reshape(self._extended_shape(shape))

    def rsample(self, sample_shape: torch.Size | list[int] | tuple[int, ...] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.rsample`."""
        shape = self._extended_shape(torch.Size(sample_shape))
        like = self.normals.log_weights
        normal = torch.randn(shape, dtype=like.dtype, device=like.device)
        return self.transformed(normal, torch.rand(shape[:-1], dtype=like.dtype, device=like.device))

    def transformed(
        self, normal: Float[Tensor, "*draws query"], level: Float[Tensor, "*draws"]
    ) -> Float[Tensor, "*draws query"]:
        """Draws as a function of standard Normals and of uniform levels, which choose the solver's component.

        Both begin with any number of draws, then have the batch shape. Gradients to the queries are exact, since the
        weights of the components depend on the context alone.
        """
        like, datasets = self.normals.log_weights, self.batch_shape.numel()
        functions = self.normals.reparameterised(
            normal.to(like).reshape(-1, datasets, normal.shape[-1]), level.to(like).reshape(-1, datasets)
        )
        return self._mapped(functions).reshape(normal.shape)

    def _mapped(self, functions: Float[Tensor, "count datasets query"]) -> Float[Tensor, "count *batch query"]:
        """The solver's functions with the margins of the network."""
        levels = self.normals.margins().cdf(functions).clamp(OUTERMOST, 1 - OUTERMOST)
        return self.margins.icdf(levels.reshape(-1, *self.margins.batch_shape))

    def log_prob(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`: the solver's joint density over that of its margins, times ours."""
        y = as_tensor(value, "y")
        query = self.margins.batch_shape
        if y.shape[-len(query) :] != query:
            raise ShapeError(f"y must have shape (*batch, query) = {tuple(query)}, as query_x; got {tuple(y.shape)}.")
        margins, own = in_double(self.margins), self.normals.margins()
        levels = margins.cdf(y.to(self.normals.log_weights)).clamp(OUTERMOST, 1 - OUTERMOST)
        functions = own.icdf(levels.reshape(-1, *own.batch_shape))  # (count, datasets, query)
        dependence = self.normals.log_prob(functions) - own.log_prob(functions).sum(-1)
        log_prob = dependence.reshape(y.shape[:-1]) + margins.log_prob(y.to(levels)).sum(-1)
        return log_prob.to(self.margins.mean.dtype)


def joint_of(function: JointNormals, margins: Distribution, answers: str, noise: bool) -> JointPredictive:
    """The joint predictive of a function, or of noisy observations of it, whichever of both the margins are for."""
    normals = function.observed() if noise else function
    if (answers == "observations") is noise:
        return JointPredictive(normals, margins)
    share = function.noise_share().reshape(margins.batch_shape)
    return JointPredictive(normals, widened(margins, share) if noise else narrowed(margins, share))


def narrowed(margins: Distribution, noise_share: Float[Tensor, "*batch query"]) -> Distribution:
    """Margins of observations as those of the function below: the share of the noise is taken from their variance.

    The mean stays, and the shape; deviations from the mean shrink by the root of one minus the share.
    """
    return _stretched(margins, (1 - noise_share).clamp_min(0).sqrt().clamp_min(LEAST_SCALE))


def widened(margins: Distribution, noise_share: Float[Tensor, "*batch query"]) -> Distribution:
    """Margins of a function as those of observations, of whose variance the noise has a share; see `narrowed`."""
    return _stretched(margins, (1 - noise_share).clamp_min(LEAST_SCALE**2).rsqrt())


def _stretched(margins: Distribution, factor: Float[Tensor, "*batch query"]) -> Distribution:
    """Margins whose deviations from the mean are multiplied by a factor."""
    factor = factor.to(margins.mean.dtype)
    return affine(margins, factor, margins.mean * (1 - factor))


def in_a_row(
    query_x: Num[Tensor, "*sets_and_batch query columns"], batch_dims: int
) -> tuple[Num[Tensor, "*batch queries columns"], torch.Size]:
    """The queries of all sets one after the other, and the shape of the sets, which stand before the batch."""
    sets = query_x.shape[: max(0, query_x.ndim - 2 - batch_dims)]
    if not sets:
        return query_x, sets
    return query_x.flatten(0, len(sets) - 1).movedim(0, -3).flatten(-3, -2), sets
