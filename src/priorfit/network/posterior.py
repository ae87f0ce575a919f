"""A conditioned network: it answers any number of queries, in chunks that fit in memory."""

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from jaxtyping import Num
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal

from priorfit.distributions.joining import joined, reshaped
from priorfit.errors import InputError
from priorfit.network.limits import warn_of_inputs
from priorfit.network.reading import Reading
from priorfit.network.surprise import DRAWS, Surprise, surprise_of
from priorfit.network.units import NoUnits, Units
from priorfit.network.validation import checked_queries, is_finite, readable
from priorfit.priors import Prior
from priorfit.values import Values

if TYPE_CHECKING:
    from priorfit.network.pfn import PFN, Memory

Context: TypeAlias = tuple[Num[Tensor, "datasets points features"], Num[Tensor, "datasets points"]]
"""The points that a network was conditioned on, in the units of its prior."""

CHUNK_BYTES = 64 * 2**20
"""Memory that the network's intermediate states of one chunk of queries may take."""


class PFNPosterior:
    """What a network remembers of a context; a `Posterior`."""

    def __init__(
        self, model: "PFN", memory: "Memory", reading: Reading, units: Units | NoUnits, context: Context
    ) -> None:
        self._model, self._memory, self._reading, self._units = model, memory, reading, units
        self._context = context

    def predict(self, query_x: Values) -> Distribution:
        """The posterior predictive of each query, in the units of the context; no query sees another.

        ``query_x (*batch, query, columns)`` has the batch shape and the columns of the context; the answer has
        batch shape ``(*batch, query)``.
        """
        model, reading = self._model, self._reading
        x = checked_queries(query_x, reading.batch_shape, reading.num_columns, model.problem)
        inputs = readable(reading.inputs(x), model.decoder.weight, "query_x")  # (batch, query, features)
        warn_of_inputs(inputs, model.problem)
        ppd = joined([self._answered(chunk) for chunk in inputs.split(self.chunk_size(), dim=1)])
        shaped = reshaped(ppd, x.shape[:-1])
        return reading.to_user(shaped, self._units)

    def surprise(self, prior: Prior | None = None, draws: int = DRAWS, seed: int = 0) -> Surprise:
        """Did the prior draw this context? A p-value: small where the data are unlike the prior's, in whatever way.

        Each point is predicted from those before it, in an order that depends on x and seed alone: the first few one by
        one, then in blocks as large as all points before them. PIT values and log densities minus their expectations
        make seven summaries, of which large ones are surprising: targets that are improbable, too probable (units that
        are too small), one far off, quantiles that are uneven (for classes they are drawn within their step),
        neighbours whose errors are alike or unlike, functions that are too smooth. The same summaries of ``draws``
        datasets at the same x say what is usual, and the p-value is the rank of the data's most extreme one among
        theirs. It is uniform if the prior drew the data, whatever the network does: a bad network costs power alone.

        The draws are those of ``prior``, by default of the one on the model's card. Where there is none to draw from
        (the prior is a function, or draws its own inputs), the network's own draws take their place, which costs n
        passes and is right as far as the network is; ``null`` of the result says which. An empty context is refused;
        one point is compared by its PIT and its log density alone, and tells nothing where units are free.
        """
        found = surprise_of(self._model, *self._context, prior, draws, seed)
        shape = self._reading.batch_shape
        statistics = {name: values.reshape(shape) for name, values in found.statistics.items()}
        return replace(found, p_value=found.p_value.reshape(shape), statistics=statistics)

    def chunk_size(self) -> int:
        """How many queries of each dataset go through the network at once."""
        settings, head = self._model.settings, self._model.head
        # tokens, normalised copy, query, attended, residuals; the feed-forward layer twice; the head's numbers
        numbers = 8 * settings.width + 2 * settings.feedforward + 4 * head.num_parameters
        numbers += 0 if self._model.solver is None else self._model.solver.memory_per_query
        batch_size = max(1, self._reading.batch_shape.numel())
        return max(1, CHUNK_BYTES // (numbers * self._model.dtype.itemsize * batch_size))

    def _answered(self, query_x: Num[Tensor, "batch query features"]) -> Distribution:
        ppd = self._model.answer(query_x, self._memory)
        if not is_finite(ppd.loc if isinstance(ppd, Normal) else cast(Categorical, ppd).logits):
            raise InputError(
                "the network's answer is not finite: values of the context or the queries are so large that its "
                f"{self._model.dtype} numbers overflow. Rescale them to the units of the prior."
            )
        return ppd
