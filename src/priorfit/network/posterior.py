"""A conditioned network: it answers any number of queries, in chunks that fit in memory."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.network.attention import KeysValues
from priorfit.network.questions import check_queries
from priorfit.network.scaling import NoUnits, Units
from priorfit.network.solutions import Remembered

if TYPE_CHECKING:
    from priorfit.network.pfn import PFN

CHUNK_BYTES = 64 * 2**20
"""Memory that the network's intermediate states of one chunk of queries may take."""


@dataclass(frozen=True)
class Memory:
    """What a network keeps of a context: keys and values of each layer, and the regressions where it has them."""

    layers: list[KeysValues]
    regression: Remembered | None


class PFNPosterior:
    """What a network remembers of a context; a `Posterior`."""

    def __init__(self, model: "PFN", memory: Memory, units: Units | NoUnits, batch_shape: torch.Size) -> None:
        self._model, self._memory, self._units, self._batch_shape = model, memory, units, batch_shape

    def predict(self, query_x: Num[Tensor, "*batch query features"]) -> Distribution:
        """The posterior predictive of each query; no query sees another."""
        model = self._model
        check_queries(query_x, self._batch_shape, model.task)
        model.warn_outside_inputs(query_x)
        flat = query_x.to(model.dtype).reshape(
            self._batch_shape.numel(), *query_x.shape[-2:]
        )  # (batch, query, features)
        refined = torch.cat([self._refined(chunk) for chunk in flat.split(self.chunk_size(), dim=1)], dim=1)
        refined = refined.reshape(*query_x.shape[:-1], refined.shape[-1])
        return self._units.reshape(*self._batch_shape).outward(model.head.distribution(refined))

    def chunk_size(self) -> int:
        """How many queries of each dataset go through the network at once."""
        settings, head = self._model.settings, self._model.head
        # tokens, normalised copy, query, attended, residuals; the feed-forward layer twice; the head's numbers
        numbers = 8 * settings.width + 2 * settings.feedforward + 4 * head.num_parameters
        if settings.query_attention == "self" and self._memory.layers:
            numbers += 2 * settings.heads * self._memory.layers[0].keys.shape[2]
        numbers += 0 if self._model.regression is None else self._model.regression.numbers_per_query
        batch_size = max(1, self._batch_shape.numel())
        return max(1, CHUNK_BYTES // (numbers * self._model.dtype.itemsize * batch_size))

    def _refined(self, query_x: Num[Tensor, "batch query features"]) -> Tensor:
        model = self._model
        return model.head.refine(model.answer(query_x, self._memory))
