"""Datasets as a prior draws them, and their split into context and queries."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal

from priorfit.errors import InputError, ShapeError
from priorfit.fields import check_fields

Conditional = Callable[[int], Distribution]
"""Given n, the distribution of the targets after the first n, given those n and the prior's latents."""


@dataclass(frozen=True)
class Real:
    """Targets are real numbers."""


@dataclass(frozen=True)
class Classes:
    """Targets are the classes 0 ... count - 1, kept as floating-point numbers."""

    count: int

    def __post_init__(self) -> None:
        check_fields(self)
        if self.count < 2:
            raise InputError(f"Classes needs at least 2 classes; got {self.count}.")


Outcome = Real | Classes


@dataclass(frozen=True)
class Batch:
    """Context and queries of a batch of datasets.

    ``query_law`` is p(query_y | context, latents) where the prior knows it, with batch shape (batch, query): a
    Normal for real targets (a scale of 0 is a point mass), a Categorical for classes. ``latents`` are those that
    the prior names, ``(batch, size)`` each, as drawn for these datasets.
    """

    context_x: Float[Tensor, "*batch context features"]
    context_y: Num[Tensor, "*batch context"]
    query_x: Float[Tensor, "*batch query features"]
    query_y: Num[Tensor, "*batch query"]
    query_law: Distribution | None = None
    latents: Mapping[str, Num[Tensor, "*batch size"]] = field(default_factory=dict)
    known: tuple[int, ...] = ()
    """Which numbers of the latents, counted in the order in which they were named, a network is shown."""
    chain: tuple[int, ...] = ()
    """The others in an order in which each is asked about given those before it, too; empty: given ``known`` alone."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        tensors = (getattr(self, name).to(device) for name in ("context_x", "context_y", "query_x", "query_y"))
        law = None if self.query_law is None else moved(self.query_law, device)
        latents = {name: value.to(device) for name, value in self.latents.items()}
        return Batch(*tensors, query_law=law, latents=latents, known=self.known, chain=self.chain)


def moved(law: Distribution, device: torch.device) -> Distribution:
    """A Normal or a Categorical on another device."""
    if isinstance(law, Normal):
        return Normal(law.loc.to(device), law.scale.to(device), validate_args=False)
    assert isinstance(law, Categorical)  # the contract of `Batch.query_law`
    return Categorical(logits=law.logits.to(device), validate_args=False)


@dataclass(frozen=True)
class Datasets:
    """A batch of datasets as drawn, all of the same number of points.

    >>> import priorfit as pf
    >>> tasks = pf.GaussianProcess(num_features=1).sample(batch_size=3, num_points=21).split(num_context=20)
    >>> tasks.context_x.shape, tasks.query_y.shape
    (torch.Size([3, 20, 1]), torch.Size([3, 1]))
    """

    x: Float[Tensor, "*batch points features"]
    y: Num[Tensor, "*batch points"]
    conditional: Conditional | None = None
    latents: Mapping[str, Num[Tensor, "*batch size"]] = field(default_factory=dict)
    divide: Callable[[int], Batch] | None = None
    """Context and queries for a number of context points, where they are shown otherwise than as the first points and
    the rest: in units of the context, or with queries that have no noise."""

    def __post_init__(self) -> None:
        if self.x.shape[:-1] != self.y.shape:
            raise ShapeError(
                f"y must have shape (*batch, points) = {tuple(self.x.shape[:-1])} to match x of shape "
                f"{tuple(self.x.shape)}; got {tuple(self.y.shape)}."
            )

    def split(self, num_context: int) -> Batch:
        """The first ``num_context`` points as context, the others as queries."""
        points = self.x.shape[-2]
        if not 0 <= num_context < points:
            raise InputError(f"num_context must be at least 0 and below the {points} points drawn; got {num_context}.")
        if self.divide is not None:
            return self.divide(num_context)
        return Batch(
            context_x=self.x[..., :num_context, :],
            context_y=self.y[..., :num_context],
            query_x=self.x[..., num_context:, :],
            query_y=self.y[..., num_context:],
            query_law=None if self.conditional is None else self.conditional(num_context),
            latents=self.latents,
        )
