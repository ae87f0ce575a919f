"""A Prior-Data Fitted Network for tables: cells in, predictive distributions of rows out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Num, Shaped
from torch import Tensor, nn
from torch.distributions import Distribution
from torch.nn import functional

from priorfit.data import Batch, Classes
from priorfit.network.card import ModelCard
from priorfit.network.kept import Asked
from priorfit.network.limits import warn_of_context
from priorfit.network.model import Model
from priorfit.network.posterior import PFNPosterior
from priorfit.network.problem import Problem
from priorfit.network.reading import table_reading
from priorfit.network.solver.joint import JointNormals
from priorfit.network.tables.blocks import CellTransformer
from priorfit.network.tables.cells import CELL_NUMBERS, CellFeatures, ColumnStatistics
from priorfit.network.tables.codings import (
    against_others,
    class_probabilities,
    number_of_classes,
    signs_of,
    standard_coding,
)
from priorfit.network.tables.guesses import GUESS_NUMBERS, NUM_KERNELS, KernelGuesses, SolvedGuesses
from priorfit.network.tables.standard import StandardColumns, standard_columns
from priorfit.network.units import NoUnits, Units
from priorfit.network.validation import checked_context, readable
from priorfit.values import Values

if TYPE_CHECKING:
    from priorfit.network.tables.settings import TableSettings

OWN_PARTS = ("head", "decoder")
"""The parts of a network that depend on what its targets are."""


MOST_TOKENS = 2**17
"""Cells of contexts that go through the layers at once: at width 96, each copy of them takes 50 MB."""


@dataclass(frozen=True)
class TableMemory:
    """What a network for tables keeps of a context."""

    statistics: ColumnStatistics
    solved: SolvedGuesses
    layers: list[tuple[Tensor, Tensor]]
    columns: StandardColumns
    num_classes: int
    signs: Float[Tensor, "coded 1"]


class TableNetwork(Model):
    """A network whose tokens are the cells of a table; a `Predictor`.

    It takes any number of columns up to ``problem.num_features`` and, of classes, any number up to those of the
    problem. The order of classes, of columns and of rows of the context changes nothing, nor do units of columns.

    >>> import priorfit as pf
    >>> settings = pf.TableSettings(width=16, layers=1, feedforward=16)
    >>> model = settings.build(Problem(20, Classes(10), min_features=1, units="free"))
    >>> posterior = model.condition(torch.randn(30, 4), torch.arange(30) % 3)
    >>> posterior.predict(torch.randn(5, 4)).probs.shape
    torch.Size([5, 3])
    """

    def __init__(self, settings: "TableSettings", problem: Problem, card: ModelCard | None = None) -> None:
        super().__init__(settings, problem, card)
        self.settings = settings
        width = settings.width
        self.cell_encoder = nn.Sequential(nn.Linear(CELL_NUMBERS, width), nn.GELU(), nn.Linear(width, width))
        self.target_encoder = nn.Sequential(nn.Linear(2, width), nn.GELU(), nn.Linear(width, width))
        self.cell_targets = nn.Linear(2, width)
        self.asked = nn.Parameter(0.3 * torch.randn(2, width))
        self.guesses = KernelGuesses()
        self.guess_encoder = nn.Sequential(nn.Linear(GUESS_NUMBERS, width), nn.GELU(), nn.Linear(width, width))
        self.transformer = CellTransformer(
            width, settings.layers, settings.attention_heads, settings.feedforward, settings.sinks
        )
        output = settings.output_for(problem)
        self.head = None if output is None else output.build(problem.outcome, None)
        self.decoder = nn.Linear(width, 1 if self.head is None else self.head.num_parameters)
        nn.init.zeros_(self.decoder.weight)
        with torch.no_grad():
            self.decoder.bias.copy_(torch.zeros(1) if self.head is None else self.head.initial_bias())

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights; inputs are cast to it."""
        return self.decoder.weight.dtype

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Model.matrices`."""
        return self.transformer.matrices()

    def weights_from(self, start: Model) -> Mapping[str, Shaped[Tensor, "..."]] | None:
        """See `Model.weights_from`; a network of the same size begins with all but the head, whatever its targets."""
        if not isinstance(start, TableNetwork) or start.settings.trunk != self.settings.trunk:
            return None
        if start.problem.outcome == self.problem.outcome and start.settings == self.settings:
            return start.state_dict()
        return {name: weight for name, weight in start.state_dict().items() if name.split(".")[0] not in OWN_PARTS}

    @property
    def solver_dtype(self) -> torch.dtype:
        """The dtype of columns, statistics and kernels: that of the weights, but float32 for half precision."""
        return torch.promote_types(self.dtype, torch.float32)

    def numbers_per_query(self, memory: TableMemory) -> int:
        """See `Answering.numbers_per_query`."""
        _, columns, context = memory.statistics.cells.values.shape
        tokens = (columns + 1) * (8 * self.settings.width + 2 * self.settings.feedforward)
        return memory.num_classes * (tokens + columns * CELL_NUMBERS + 6 * NUM_KERNELS * context)

    def units_of(self, context_y: Num[Tensor, "batch context"]) -> Units | NoUnits:
        """See `Answering.units_of`: reals are standardised over the context."""
        return NoUnits() if self.head is None else target_units(context_y)

    def readable_inputs(self, x: Num[Tensor, "batch rows columns"], name: str) -> Num[Tensor, "batch rows columns"]:
        """See `Answering.readable_inputs`: columns are standardised in the precision that they come in."""
        return x.to(self.decoder.weight.device)

    def states(
        self, context_x: Float[Tensor, "batch context columns"], targets: Num[Tensor, "batch context"], query_x: Tensor
    ) -> Float[Tensor, "batch query parameters"]:
        """The head's numbers for each query, in one pass; ``targets`` are standardised."""
        return self._decoded(self._row_states(context_x, targets, query_x))

    def _row_states(
        self, context_x: Float[Tensor, "batch context columns"], targets: Num[Tensor, "batch context"], query_x: Tensor
    ) -> Float[Tensor, "batch query width"]:
        with torch.autocast(query_x.device.type, enabled=False):
            statistics, solved = self._solve(context_x, targets)
            queries = statistics.features_of(query_x)
            known, asked = self.guesses.leave_one_out(solved), self.guesses.predict(queries, solved)
        context = self._context_cells(statistics.features, known, targets)
        cells = torch.cat([context, self._query_cells(queries, asked)], dim=2)
        return self.transformer(cells, targets.shape[1])

    def described(
        self, x: Num[Tensor, "batch rows columns"], y: Num[Tensor, "batch rows"]
    ) -> Float[Tensor, "batch numbers"]:
        """What tables look like to the network: means and deviations, over rows, of the states that it answers from.

        Each row is asked about with all rows given. Of classes, that of the first row is taken against the others.
        """
        columns = standard_columns(x, self.solver_dtype)
        rows, targets = columns.to_model(x), y.to(self.solver_dtype)
        if self.head is None:
            targets = standard_coding((y == first_class(y)).to(self.solver_dtype))
        else:
            targets = target_units(targets).to_model(targets)
        with torch.no_grad():
            states = self._row_states(rows, targets, rows)
        return torch.cat([states.mean(1), states.std(1, correction=0)], dim=-1)

    def _decoded(self, states: Float[Tensor, "batch query width"]) -> Float[Tensor, "batch query parameters"]:
        """The head's numbers, in float32 at least: bfloat16 would round a mean by more than the smallest noise."""
        with torch.autocast(states.device.type, enabled=False):
            return self.decoder(states.to(self.dtype)).to(self.solver_dtype)

    def _solve(
        self, context_x: Float[Tensor, "batch context columns"], targets: Float[Tensor, "coded context"]
    ) -> tuple[ColumnStatistics, SolvedGuesses]:
        with torch.no_grad():
            statistics = ColumnStatistics.of(context_x, targets)
            relevances = statistics.relevances()
        return statistics, self.guesses.condition(statistics.features, targets, relevances)

    def _context_cells(self, features: CellFeatures, guesses: Tensor, targets: Tensor) -> Tensor:
        """Tokens of labelled rows; the label of a row is part of every cell in it."""
        labels = torch.stack([targets, functional.softsign(targets)], dim=-1).to(self.dtype)  # (coded, context, 2)
        cells = self.cell_encoder(features.numbers.to(self.dtype)) + self.cell_targets(labels)[:, None]
        rows = self.target_encoder(labels) + self.guess_encoder(guesses.to(self.dtype))
        return torch.cat([rows[:, None], cells], dim=1)

    def _query_cells(self, features: CellFeatures, guesses: Tensor) -> Tensor:
        cells = self.cell_encoder(features.numbers.to(self.dtype)) + self.asked[0]
        rows = self.asked[1] + self.guess_encoder(guesses.to(self.dtype))
        return torch.cat([rows[:, None], cells], dim=1)

    def loss(self, batch: Batch) -> Float[Tensor, "batch query"]:
        """The negative log density of each query.

        Of classes one is taken against the others, that of the context's first row: it follows from the context alone,
        so that the loss is a proper score of that class's probability, at the cost of one coding.
        """
        columns = standard_columns(batch.context_x, self.solver_dtype)
        context_x, query_x = columns.to_model(batch.context_x), columns.to_model(batch.query_x)
        if self.head is None:
            chosen = first_class(batch.context_y)
            known, asked = ((labels == chosen).to(self.solver_dtype) for labels in (batch.context_y, batch.query_y))
            log_odds = self.states(context_x, standard_coding(known), query_x)[..., 0]
            return functional.binary_cross_entropy_with_logits(log_odds, asked, reduction="none")
        known = batch.context_y.to(self.solver_dtype)
        units = target_units(known)
        ppd = self.head(self.states(context_x, units.to_model(known), query_x))
        return units.log_scale - ppd.log_prob(units.to_model(batch.query_y))

    def condition(self, context_x: Values, context_y: Values) -> PFNPosterior:
        """Run the context through the network once and keep what queries need.

        Tensors, arrays, lists and frames are taken in the user's units: ``context_x (*batch, context, columns)``, where
        NaN is a missing value, and ``context_y (*batch, context)``. Of classes the answer has as many as the largest
        label of the contexts tells, at least two. Gradients flow to the queries, not to the context.
        """
        x, y = (values.detach() for values in checked_context(context_x, context_y, self.problem))
        reading = table_reading(x, y, self.problem)
        inputs = self.readable_inputs(reading.inputs(x), "context_x")
        targets = readable(reading.targets(y), self._like(), "context_y")
        warn_of_context(inputs, targets, self.problem, self.card)
        units = self.units_of(targets)
        return PFNPosterior(
            self, self.encoded(inputs, units.to_model(targets)), reading, units, (inputs, targets), Asked(x, y, {})
        )

    def _like(self) -> Float[Tensor, "0"]:
        """An empty tensor of the dtype and on the device in which regressions are solved."""
        return torch.empty(0, dtype=self.solver_dtype, device=self.decoder.weight.device)

    def encoded(self, context_x: Num[Tensor, "batch context columns"], context_y: Tensor) -> TableMemory:
        """What answers to queries need of a context, whose y are in the network's units."""
        columns = standard_columns(context_x, self.solver_dtype)
        targets, count = context_y.to(self.solver_dtype), 1
        signs = targets.new_ones(len(targets), 1)
        if isinstance(self.problem.outcome, Classes):
            count = number_of_classes(context_y, self.problem.outcome.count)
            coded = against_others(context_y, count).to(self.solver_dtype)
            targets, signs = standard_coding(coded), signs_of(coded)
        statistics, solved = self._solve(columns.to_model(context_x), targets)
        known = self.guesses.leave_one_out(solved)
        cells = self._context_cells(statistics.features, known, targets)
        return TableMemory(statistics, solved, self._layers(cells), columns, count, signs)

    @property
    def grows(self) -> bool:
        """See `Answering.grows`."""
        return True

    def kept(self, memory: TableMemory) -> TableMemory:
        """See `Answering.kept`: it has no modules."""
        return memory

    def resumed(self, kept: TableMemory) -> TableMemory:
        """See `Answering.resumed`."""
        return kept

    def with_points(self, memory: TableMemory, context_x: Tensor, context_y: Tensor) -> None:
        """See `Answering.with_points`: units and ranks change with every row."""

    def _layers(self, cells: Float[Tensor, "coded columns context width"]) -> list[tuple[Tensor, Tensor]]:
        """What each layer keeps of a context, some codings at a time, so that many classes fit in memory."""
        size = max(1, MOST_TOKENS // max(1, cells.shape[1] * cells.shape[2]))
        if len(cells) <= size:
            return self.transformer.condition(cells)
        parts = [self.transformer.condition(part) for part in cells.split(size)]
        layers = (zip(*layer, strict=True) for layer in zip(*parts, strict=True))
        return [(torch.cat(keys), torch.cat(values)) for keys, values in layers]

    def answer(self, query_x: Num[Tensor, "batch query columns"], memory: TableMemory) -> Distribution:
        """The predictive of each query."""
        queries = memory.statistics.features_of(memory.columns.to_model(query_x))
        cells = self._query_cells(queries, self.guesses.predict(queries, memory.solved))
        parameters = self._decoded(self.transformer.predict(cells, memory.layers))
        if self.head is None:
            return class_probabilities(parameters[..., 0] * memory.signs, memory.num_classes)
        return self.head(parameters)

    def joint_normals(self, query_x: Num[Tensor, "batch query columns"], memory: TableMemory) -> JointNormals | None:
        """See `Answering.joint_normals`: none, since its kernel regressions are features of the cells alone."""
        return None


def first_class(labels: Num[Tensor, "batch context"]) -> Num[Tensor, "batch 1"]:
    """The class of the first row; 0 where there is none, since all classes are alike then."""
    return labels[:, :1] if labels.shape[1] else labels.new_zeros(len(labels), 1)


def target_units(y: Float[Tensor, "batch context"]) -> Units:
    """Mean and standard deviation of a context's targets; 1 where they are all equal."""
    if not y.shape[1]:
        return Units(y.new_zeros(len(y), 1), y.new_ones(len(y), 1))
    deviation = y.std(1, keepdim=True, correction=0)
    return Units(y.mean(1, keepdim=True), torch.where(deviation > 1e-6 * y.abs().amax(1, keepdim=True), deviation, 1.0))
