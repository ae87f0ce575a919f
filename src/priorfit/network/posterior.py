"""A conditioned network: it answers any number of queries, in chunks that fit in memory."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.errors import InputError
from priorfit.network.attention import KeysValues
from priorfit.network.limits import warn_of_inputs
from priorfit.network.reading import Reading
from priorfit.network.solutions import Remembered
from priorfit.network.units import NoUnits, Units
from priorfit.network.validation import checked_queries, is_finite, readable
from priorfit.values import Values

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

    def __init__(self, model: "PFN", memory: Memory, reading: Reading, units: Units | NoUnits) -> None:
        self._model, self._memory, self._reading, self._units = model, memory, reading, units

    def predict(self, query_x: Values) -> Distribution:
        """The posterior predictive of each query, in the units of the context; no query sees another.

        ``query_x (*batch, query, columns)`` has the batch shape and the columns of the context; the answer has
        batch shape ``(*batch, query)``.
        """
        model, reading = self._model, self._reading
        x = checked_queries(query_x, reading.batch_shape, reading.num_columns, model.problem)
        inputs = readable(reading.inputs(x), model.decoder.weight, "query_x")  # (batch, query, features)
        warn_of_inputs(inputs, model.problem)
        refined = torch.cat([self._refined(chunk) for chunk in inputs.split(self.chunk_size(), dim=1)], dim=1)
        refined = refined.reshape(*x.shape[:-1], refined.shape[-1])
        return reading.to_user(model.head.distribution(refined), self._units)

    def chunk_size(self) -> int:
        """How many queries of each dataset go through the network at once."""
        settings, head = self._model.settings, self._model.head
        # tokens, normalised copy, query, attended, residuals; the feed-forward layer twice; the head's numbers
        numbers = 8 * settings.width + 2 * settings.feedforward + 4 * head.num_parameters
        if settings.query_attention == "self" and self._memory.layers:
            numbers += 2 * settings.heads * self._memory.layers[0].keys.shape[2]
        numbers += 0 if self._model.regression is None else self._model.regression.numbers_per_query
        batch_size = max(1, self._reading.batch_shape.numel())
        return max(1, CHUNK_BYTES // (numbers * self._model.dtype.itemsize * batch_size))

    def _refined(self, query_x: Num[Tensor, "batch query features"]) -> Tensor:
        model = self._model
        parameters = model.answer(query_x, self._memory)
        if not is_finite(parameters):
            raise InputError(
                "the network's answer is not finite: values of the context or the queries are so large that its "
                f"{model.dtype} numbers overflow. Rescale them to the units of the prior."
            )
        return model.head.refine(parameters)
