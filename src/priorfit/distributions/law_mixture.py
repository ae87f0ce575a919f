"""A weighted mixture of thousands of any one law: the posterior predictive of weighted latents."""

from collections.abc import Sequence
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributions import Distribution, constraints

from priorfit.distributions.quadrature import expectation_nodes
from priorfit.distributions.shapes import broadcast_shapes
from priorfit.distributions.values import Values, as_levels, as_values
from priorfit.seeding import seeded

NUM_NODES = 256
"""Draws over which expectations under the mixture are taken."""

FEWEST_REPEATS = 8
"""Draws of each component that nodes are chosen from, at least; more where one component has many of them."""

CHUNK = 2**23
"""Most densities of components that are computed at once."""

BISECTIONS = 60
"""Steps of the search for a quantile; each halves its bracket."""


class LawMixture(Distribution):
    """The mixture with ``weights (*batch, components)`` of a law with batch shape ``(batch * components, points)``.

    The components of one dataset stand next to each other in the law. Expectations, such as the entropy, are means over
    fixed stratified draws (``nodes``), with a Monte Carlo error; densities, moments and the cdf are exact.

    >>> from torch.distributions import Normal
    >>> law = Normal(torch.arange(6.0)[:, None].expand(6, 4), 1.0)  # three components of two datasets at four points
    >>> mixture = LawMixture(torch.zeros(2, 3), law)
    >>> mixture.batch_shape, mixture.mean[:, 0]
    (torch.Size([2, 4]), tensor([1., 4.]))
    """

    arg_constraints = {}  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]: torch has a property

    def __init__(self, logits: Float[Tensor, "*batch components"], law: Distribution) -> None:
        self.law = law
        law._validate_args = False  # values outside of a component's support have density 0, and are no error
        self.logits = logits
        self.probs = logits.double().softmax(-1)
        points = law.batch_shape[-1]
        super().__init__(torch.Size((*logits.shape[:-1], points)), validate_args=False)

    @property
    def support(self) -> constraints.Constraint:
        """See `Distribution.support`."""
        return self.law.support  # pyright: ignore[reportReturnType]

    @property
    def num_components(self) -> int:
        """How many laws are mixed for each dataset."""
        return self.logits.shape[-1]

    @cached_property
    def _weights(self) -> Float[Tensor, "datasets components 1"]:
        return self.probs.flatten(0, -2)[..., None] if self.probs.ndim > 1 else self.probs[None, :, None]

    def _of_components(self, numbers: Float[Tensor, "..."]) -> Float[Tensor, "... datasets components points"]:
        return numbers.unflatten(-2, (-1, self.num_components))

    def _mixed(self, numbers: Float[Tensor, "flat points"]) -> Float[Tensor, "*batch points"]:
        mixed = (self._weights * self._of_components(numbers.double())).sum(-2)
        return mixed.reshape(self.batch_shape).to(numbers.dtype)

    def _chunks(self, values: Float[Tensor, "..."]) -> Sequence[Float[Tensor, "some datasets points"]]:
        """Values with one sample axis, in parts that fit in memory."""
        flat = values.expand(broadcast_shapes(values.shape, self.batch_shape))
        flat = flat.reshape(-1, len(self._weights), self.batch_shape[-1])
        return flat.split(max(1, CHUNK // max(1, flat[0].numel() * self.num_components)))

    def _each(self, values: Float[Tensor, "some datasets points"]) -> Float[Tensor, "some flat points"]:
        shape = (*values.shape[:2], self.num_components, values.shape[-1])
        return values[:, :, None].expand(shape).flatten(1, 2)

    def _shaped(self, value: Values, parts: list[Float[Tensor, "..."]]) -> Float[Tensor, "..."]:
        shape = broadcast_shapes(torch.as_tensor(value).shape, self.batch_shape)
        return torch.cat(parts).reshape(shape)

    def log_prob(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.log_prob`; -inf outside of the support."""
        values = as_values(value, self.logits, self.batch_shape)
        return self._shaped(values, [self._log_prob(part) for part in self._chunks(values)])

    def _log_prob(self, values: Float[Tensor, "some datasets points"]) -> Float[Tensor, "some datasets points"]:
        each = self._each(values)
        inside = self.law.support.check(each)  # pyright: ignore[reportOptionalMemberAccess]
        if not bool(inside.all()):  # some laws give NaN, or an error, in place of -inf
            each = torch.where(inside, each, self.law.sample())
        density = torch.where(inside, self.law.log_prob(each).nan_to_num(nan=-torch.inf), -torch.inf)
        return (self._of_components(density) + self._weights.log()).logsumexp(-2).to(self.logits.dtype)

    def cdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.cdf`; of laws that have one."""
        values = as_values(value, self.logits, self.batch_shape)
        parts = [self._of_components(self.law.cdf(self._each(part)).double()) for part in self._chunks(values)]
        mixed = [(part * self._weights).sum(-2).clamp(max=1).to(self.logits.dtype) for part in parts]
        return self._shaped(values, mixed)

    def icdf(self, value: Values) -> Float[Tensor, "..."]:
        """See `Distribution.icdf`; by bisection, or by the quantiles of draws where the law has no cdf."""
        level = as_levels(value, self.logits, self.batch_shape).to(self.logits.dtype)
        level = level.expand(broadcast_shapes(level.shape, self.batch_shape))
        ordered = self.nodes.sort(0).values  # (nodes, *batch, points)
        try:
            self.law.cdf(self.law.sample())
        except NotImplementedError:
            place = (level * NUM_NODES).long().clamp(0, NUM_NODES - 1)
            return ordered.gather(0, place.reshape(-1, *self.batch_shape)).reshape(level.shape)
        return self._bisected(level, ordered)

    def _bisected(self, level: Float[Tensor, "..."], nodes: Float[Tensor, "nodes *batch"]) -> Float[Tensor, "..."]:
        spread = nodes[-1] - nodes[0] + torch.finfo(nodes.dtype).tiny
        low, high = (end.expand(level.shape) for end in (nodes[0] - 10 * spread, nodes[-1] + 10 * spread))
        for _ in range(BISECTIONS):
            middle = low + (high - low) / 2
            is_below = self.cdf(middle) < level
            low, high = torch.where(is_below, middle, low), torch.where(is_below, high, middle)
        return low + (high - low) / 2

    @property
    def mean(self) -> Float[Tensor, "*batch points"]:
        """See `Distribution.mean`."""
        return self._mixed(self.law.mean)

    @property
    def variance(self) -> Float[Tensor, "*batch points"]:
        """See `Distribution.variance`."""
        return self._mixed(self.law.variance + self.law.mean.square()) - self.mean.square()

    def sample(self, sample_shape: torch.Size | Sequence[int] = ()) -> Float[Tensor, "..."]:
        """See `Distribution.sample`."""
        shape, size = torch.Size(sample_shape), torch.Size(sample_shape).numel()
        points = self.batch_shape[-1]
        with torch.no_grad():
            chosen = self._weights[..., 0].multinomial(size * points, replacement=True)  # (datasets, size * points)
            chosen = chosen.unflatten(1, (size, points)).movedim(1, 0)  # (size, datasets, points)
            drawn = [self._of_components(self.law.sample()) for _ in range(size)]  # (datasets, components, points)
            picked = [each.gather(1, index[:, None])[:, 0] for each, index in zip(drawn, chosen, strict=True)]
        return (
            torch.stack(picked).reshape(*shape, *self.batch_shape)
            if size
            else self.mean.new_empty(*shape, *self.batch_shape)
        )

    @cached_property
    def nodes(self) -> Float[Tensor, "nodes *batch points"]:
        """Stratified draws of a fixed seed: components by systematic resampling, then a draw of each."""
        with seeded(0), torch.no_grad():
            index = systematic(self._weights[..., 0], NUM_NODES)  # (datasets, nodes)
            affordable = max(FEWEST_REPEATS, CHUNK // self.law.batch_shape.numel())
            repeats = min(NUM_NODES, affordable, max(FEWEST_REPEATS, int(NUM_NODES * self.probs.max()) + 2))
            drawn = self._of_components(self.law.sample((repeats,)))  # (repeats, datasets, components, points)
        turns = torch.arange(NUM_NODES, device=index.device) % repeats
        rows = torch.arange(len(index), device=index.device)[:, None]
        return drawn[turns, rows, index].movedim(1, 0).reshape(NUM_NODES, *self.batch_shape).to(self.logits.dtype)

    def entropy(self) -> Float[Tensor, "*batch points"]:
        """See `Distribution.entropy`; the mean over `nodes`."""
        return self._entropy

    @cached_property
    def _entropy(self) -> Float[Tensor, "*batch points"]:
        return -self.log_prob(self.nodes).mean(0)


def systematic(weights: Float[Tensor, "datasets components"], count: int) -> Int[Tensor, "datasets count"]:
    """Components resampled at equal steps of the cumulative weight, which adds the least noise."""
    start = torch.rand(len(weights), 1, dtype=weights.dtype, device=weights.device)
    levels = (torch.arange(count, dtype=weights.dtype, device=weights.device) + start) / count
    total = weights.cumsum(-1)
    return torch.searchsorted(total, levels * total[:, -1:]).clamp(max=weights.shape[-1] - 1)


@expectation_nodes.register(LawMixture)
def _law_nodes(
    target: LawMixture, num_nodes: int
) -> tuple[Float[Tensor, "nodes *batch"], Float[Tensor, "nodes *#batch"]]:
    return target.nodes, torch.full_like(target.nodes, 1 / NUM_NODES)
