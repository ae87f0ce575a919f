"""The Prior-Data Fitted Network: context and queries in, predictive distributions out."""

from pathlib import Path

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from priorfit.data import Batch
from priorfit.network.card import ModelCard
from priorfit.network.embedding import target_encoder
from priorfit.network.front import regression_and_head
from priorfit.network.limits import warn_of_context
from priorfit.network.loading import network_of
from priorfit.network.model import Model
from priorfit.network.positions import POSITIONS
from priorfit.network.posterior import Memory, PFNPosterior
from priorfit.network.problem import Problem
from priorfit.network.reading import reading_of
from priorfit.network.settings import NetworkSettings
from priorfit.network.solutions import Remembered
from priorfit.network.storage import read_model
from priorfit.network.transformer import Transformer
from priorfit.network.units import scaling_for
from priorfit.network.validation import checked_context, readable
from priorfit.paths import usable_path
from priorfit.values import Values


class PFN(Model):
    """A transformer fitted to a prior; a `Predictor`.

    >>> from priorfit.data import Real
    >>> model = PFN(NetworkSettings(width=32, layers=2), Problem(1, Real(), (0.0, 1.0)))
    >>> posterior = model.condition(torch.rand(8, 20, 1), torch.randn(8, 20))
    >>> ppd = posterior.predict(torch.rand(8, 5, 1))
    >>> ppd.batch_shape, ppd.mean.shape
    (torch.Size([8, 5]), torch.Size([8, 5]))
    """

    def __init__(
        self,
        settings: NetworkSettings,
        problem: Problem,
        card: ModelCard | None = None,
        target_sample: Num[Tensor, "batch points"] | None = None,
    ) -> None:
        """Build a network before training; ``target_sample`` holds targets of the prior, for units and buckets."""
        super().__init__(settings, problem, card)
        self.settings = settings
        width = settings.width
        self.input_encoder = settings.encoder_for(problem).build(problem.num_features, width, problem.input_range)
        self.target_encoder = target_encoder(problem.outcome, width).requires_grad_(settings.layers > 0)
        self.positions = POSITIONS[settings.positions]()
        self.transformer = Transformer(
            width, settings.layers, settings.heads, settings.feedforward, settings.attention, settings.loops
        )
        self.scaling = scaling_for(problem.outcome, settings.target_scaling)
        sample = None if target_sample is None else self.scaling.calibrate(target_sample)
        self.regression, self.head = regression_and_head(settings, problem, sample)
        self.evidence = settings.regression.evidence if settings.regression else 0.0
        self.decoder = nn.Linear(width, self.head.num_parameters)
        nn.init.zeros_(self.decoder.weight)
        with torch.no_grad():
            self.decoder.bias.copy_(self.head.initial_bias())

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights; inputs are cast to it."""
        return self.decoder.weight.dtype

    def forward(
        self,
        context_x: Float[Tensor, "batch context features"],
        context_y: Num[Tensor, "batch context"],
        query_x: Float[Tensor, "batch query features"],
    ) -> Float[Tensor, "batch query parameters"]:
        """The head's parameters for each query, in one pass; ``context_y`` is in the network's units."""
        return self._asked(context_x, context_y, query_x)[0]

    def _asked(
        self,
        context_x: Float[Tensor, "batch context features"],
        context_y: Num[Tensor, "batch context"],
        query_x: Float[Tensor, "batch query features"],
    ) -> tuple[Float[Tensor, "batch query parameters"], Remembered | None]:
        tokens, memory = self._read(context_x, context_y)
        queries, guess = self._questions(query_x, memory)
        states = self.transformer(torch.cat([tokens, queries], dim=1), tokens.shape[1])
        return torch.cat([self.decoder(states), *guess], dim=-1), memory

    def _read(
        self, context_x: Float[Tensor, "batch context features"], context_y: Num[Tensor, "batch context"]
    ) -> tuple[Float[Tensor, "batch tokens width"], Remembered | None]:
        """The tokens of a context and the regressions on it; without layers nobody would read the tokens."""
        memory, told = None, None
        if self.regression is not None:
            memory, left_out = self.regression.remember(context_x, context_y)
            if not self.settings.layers:
                return context_x.new_zeros(len(context_x), 0, self.settings.width), memory
            told = self.regression.tell(memory, left_out, context_y)
        tokens = self.positions(self.input_encoder(context_x) + self.target_encoder(context_y))
        return tokens if told is None else tokens + told, memory

    def _questions(
        self, query_x: Float[Tensor, "batch query features"], memory: Remembered | None
    ) -> tuple[Float[Tensor, "batch query width"], list[Float[Tensor, "batch query guessed"]]]:
        """The tokens of queries, and the regressions' guess if there is one."""
        tokens = self.input_encoder(query_x)
        if self.regression is None or memory is None:
            return tokens, []
        guess, told = self.regression.answer(query_x, memory)
        return tokens + told, [guess]

    def remember(
        self, context_x: Float[Tensor, "batch context features"], context_y: Num[Tensor, "batch context"]
    ) -> Memory:
        """What answers to queries need of a context, whose y are in the network's units."""
        tokens, memory = self._read(context_x, context_y)
        return Memory(self.transformer.remember(tokens), memory)

    def answer(
        self, query_x: Float[Tensor, "batch query features"], memory: Memory
    ) -> Float[Tensor, "batch query parameters"]:
        """The head's parameters for each query, as `forward` gives them."""
        queries, guess = self._questions(query_x, memory.regression)
        return torch.cat([self.decoder(self.transformer.answer(queries, memory.layers)), *guess], dim=-1)

    def loss(self, batch: Batch) -> Float[Tensor, "batch query"]:
        """The Prior-Data NLL of each query: of its drawn y, or in expectation where ``batch.target`` is given."""
        units = self.scaling(batch.context_y)
        parameters, memory = self._asked(batch.context_x, units.to_model(batch.context_y), batch.query_x)
        ppd, query_y = self.head(parameters), units.to_model(batch.query_y)
        if batch.target is None:
            losses = units.log_scale - ppd.log_prob(query_y)
        else:
            losses = units.log_scale - self.head.expected_log_prob(ppd, units.law_to_model(batch.target), query_y)
        if memory is None or not self.evidence:
            return losses
        per_point = memory.mixed_log_evidence() / max(batch.context_y.shape[1], 1)
        return losses - self.evidence * per_point[:, None].to(self.dtype)

    def condition(self, context_x: Values, context_y: Values) -> PFNPosterior:
        """Run the context through the network once and keep its keys and values; an empty context is the prior.

        Tensors, arrays, lists and frames are taken in the user's units: ``context_x (*batch, context, columns)``,
        ``context_y (*batch, context)``. A model with free units sees them in units of the context, and one that
        takes fewer columns than it has inputs sees them padded, as in its training.
        """
        x, y = checked_context(context_x, context_y, self.problem)
        reading = reading_of(x, y, self.problem)
        weight = self.decoder.weight
        inputs = readable(reading.inputs(x), weight, "context_x")
        targets = readable(reading.targets(y), weight, "context_y")
        warn_of_context(inputs, targets, self.problem, self.card)
        units = self.scaling(targets)
        memory = self.remember(inputs, units.to_model(targets))
        return PFNPosterior(self, memory, reading, units, (inputs, targets))


def load_pfn(path: str | Path) -> PFN:
    """Read a folder that `PFN.save` wrote; runs no code from it."""
    settings, problem, card, weights = read_model(usable_path(path))
    return network_of(lambda: PFN(settings, problem, card), weights, path).finished()
