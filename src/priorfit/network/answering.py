"""The methods that a posterior needs of the network it was conditioned with, whatever kind that is."""

from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.network.card import ModelCard
from priorfit.network.latents.parts import LatentParts
from priorfit.network.problem import Problem
from priorfit.network.solver.joint import JointNormals
from priorfit.network.units import NoUnits, Units
from priorfit.priors import Prior


@runtime_checkable
class Answering(Protocol):
    """A network that keeps what it needs of a context (its memory, of a kind that it alone knows) and then answers."""

    problem: Problem
    card: ModelCard
    prior: Prior | None
    latent_parts: LatentParts | None

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights."""
        ...

    def numbers_per_query(self, memory: Any) -> int:
        """How many numbers a query keeps alive on its way through the network, for each dataset."""
        ...

    def readable_inputs(
        self, x: Num[Tensor, "batch points features"], name: str
    ) -> Num[Tensor, "batch points features"]:
        """Inputs as the network takes them, or an error where they do not fit its numbers."""
        ...

    def units_of(self, context_y: Num[Tensor, "batch context"]) -> Units | NoUnits:
        """The units in which the network sees the targets of a context, and answers."""
        ...

    def encoded(
        self, context_x: Num[Tensor, "batch context features"], context_y: Float[Tensor, "batch context"]
    ) -> Any:
        """What answers to queries need of a context, whose y are in the network's units."""
        ...

    @property
    def grows(self) -> bool:
        """Whether its memory grows with the context, so that the points cost a file little beside it."""
        ...

    def kept(self, memory: Any) -> Any:
        """A memory as dataclasses of tensors, for a file; None where it is to be made from the points again."""
        ...

    def resumed(self, kept: Any) -> Any:
        """The memory that `kept` was made from."""
        ...

    def with_points(
        self, memory: Any, context_x: Num[Tensor, "batch more features"], context_y: Float[Tensor, "batch more"]
    ) -> Any:
        """The memory of a context and more points; None where the first points are needed again."""
        ...

    def answer(self, query_x: Num[Tensor, "batch query features"], memory: Any) -> Distribution:
        """The predictive of each query, in the network's units."""
        ...

    def joint_normals(self, query_x: Num[Tensor, "batch query features"], memory: Any) -> JointNormals | None:
        """The joint Gaussian of the network's solver over queries; None where there is none for reals."""
        ...
