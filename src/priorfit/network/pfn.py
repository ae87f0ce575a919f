"""The Prior-Data Fitted Network: context and queries in, predictive distributions out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.distributions import Distribution

from priorfit.data import Batch
from priorfit.errors import InputError
from priorfit.network.attention.attention import KeysValues
from priorfit.network.attention.positions import POSITIONS
from priorfit.network.attention.transformer import Transformer
from priorfit.network.card import ModelCard
from priorfit.network.encoders.targets import target_encoder
from priorfit.network.kept import Asked, KeptMemory
from priorfit.network.latents.parts import LatentParts
from priorfit.network.latents.posterior import missing_latents
from priorfit.network.limits import warn_of_context
from priorfit.network.model import Model
from priorfit.network.posterior import PFNPosterior
from priorfit.network.problem import Problem
from priorfit.network.reading import reading_of
from priorfit.network.solver.joint import JointNormals
from priorfit.network.solver.solver import FirstGuess, Solved
from priorfit.network.solver.tokens import GuessEncoder
from priorfit.network.units import NoUnits, Units, scaling_for
from priorfit.network.validation import checked_context, readable, require_precision
from priorfit.priors import Prior
from priorfit.priors.known import known_values
from priorfit.values import Values

if TYPE_CHECKING:
    from priorfit.network.settings import NetworkSettings

LATENT_WEIGHT = 0.25
"""Weight of the latents' mean NLL in the loss, relative to that of all points of a dataset."""
NO_NUMBERS = torch.zeros(0, 0)


@dataclass(frozen=True)
class Memory:
    """What a network keeps of a context: keys and values of each layer, and what its solver keeps."""

    layers: list[KeysValues]
    """What queries look at: the context, and known latents."""
    solved: Solved | None
    data_layers: list[KeysValues] = field(default_factory=list)
    """The context alone, which latents look at that are drawn one after the other."""
    known: tuple[int, ...] = ()
    """The numbers of the latents that are known, and their coordinates."""
    numbers: Float[Tensor, "batch known"] = NO_NUMBERS


class PFN(Model):
    """A transformer fitted to a prior; a `Predictor`.

    >>> import priorfit as pf
    >>> model = PFN(pf.NetworkSettings(width=32, layers=2), Problem(1, pf.Real(), (0.0, 1.0)))
    >>> posterior = model.condition(torch.rand(8, 20, 1), torch.randn(8, 20))
    >>> ppd = posterior.predict(torch.rand(8, 5, 1))
    >>> ppd.batch_shape, ppd.mean.shape
    (torch.Size([8, 5]), torch.Size([8, 5]))
    """

    def __init__(
        self,
        settings: "NetworkSettings",
        problem: Problem,
        card: ModelCard | None = None,
        target_sample: Num[Tensor, "batch points"] | None = None,
    ) -> None:
        """Build a network before training; ``target_sample`` holds targets of the prior, for units and buckets."""
        super().__init__(settings, problem, card)
        self.settings, width = settings, settings.width
        self.input_encoder = settings.encoder_for(problem).build(problem.num_features, width, problem.input_range)
        self.target_encoder = target_encoder(problem.outcome, width).requires_grad_(settings.layers > 0)
        self.positions = POSITIONS[settings.positions]()
        self.transformer = Transformer(width, settings.layers, settings.attention_heads, settings.feedforward)
        self.scaling = scaling_for(problem.outcome, settings.target_scaling)
        sample = None if target_sample is None else self.scaling.calibrate(target_sample)
        self.solver = None if settings.solver is None else settings.solver.build(problem, settings.encoder_for(problem))
        if self.solver is not None:
            self.guess_encoder = GuessEncoder(self.solver.num_numbers, width)
            sample = None if sample is None else standard_residuals()
        has_latents = bool(problem.latents) and settings.layers > 0
        guessed = self.solver.num_numbers if self.solver is not None and self.solver.guesses_latents else 0
        self.latent_parts = LatentParts(problem.latents, width, guessed) if has_latents else None
        self.head = settings.output_for(problem).build(problem.outcome, sample)
        self.decoder = nn.Linear(width, self.head.num_parameters)
        nn.init.zeros_(self.decoder.weight)
        with torch.no_grad():
            self.decoder.bias.copy_(self.head.initial_bias())

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights; inputs are cast to it."""
        return self.decoder.weight.dtype

    def calibrate(self, prior: Prior) -> None:
        """See `Model.calibrate`: a solver may."""
        if self.solver is not None:
            self.solver.calibrate(prior, self.problem, self.scaling(torch.zeros(1, 0)))

    def matrices(self) -> Iterable[nn.Parameter]:
        """See `Model.matrices`."""
        return [*self.transformer.matrices(), *([] if self.solver is None else self.solver.matrices())]

    def numbers_per_query(self, memory: Memory) -> int:
        """See `Answering.numbers_per_query`."""
        # tokens, normalised copy, query, attended, residuals; the feed-forward layer twice; the head's numbers
        numbers = 8 * self.settings.width + 2 * self.settings.feedforward + 4 * self.head.num_parameters
        return numbers + (0 if self.solver is None else self.solver.memory_per_query)

    def units_of(self, context_y: Num[Tensor, "batch context"]) -> Units | NoUnits:
        """See `Answering.units_of`."""
        return self.scaling(context_y)

    def readable_inputs(
        self, x: Num[Tensor, "batch points features"], name: str
    ) -> Num[Tensor, "batch points features"]:
        """See `Answering.readable_inputs`: they get the dtype of the weights."""
        return readable(x, self.decoder.weight, name)

    def forward(
        self,
        context_x: Float[Tensor, "batch context features"],
        context_y: Num[Tensor, "batch context"],
        query_x: Float[Tensor, "batch query features"],
    ) -> tuple[Distribution, Solved | None]:
        """The predictive of each query, in the network's units, and what the solver keeps; in one pass."""
        solved = None if self.solver is None else self.solver.condition(context_x, context_y)
        tokens = self._context_tokens(context_x, context_y, solved)
        queries, guess = self._query_tokens(query_x, solved)
        states = self.transformer(torch.cat([tokens, queries], dim=1), tokens.shape[1])
        return self._answer(states, guess), solved

    def encoded(
        self, context_x: Float[Tensor, "batch context features"], context_y: Num[Tensor, "batch context"]
    ) -> Memory:
        """What answers to queries need of a context, whose y are in the network's units."""
        solved = None if self.solver is None else self.solver.condition(context_x, context_y)
        layers = self.transformer.condition(self._context_tokens(context_x, context_y, solved)) if self.grows else []
        return Memory(layers, solved, layers)

    def shown(self, memory: Memory, latents: Mapping[str, Num[Tensor, "batch size"]]) -> Memory:
        """The memory of a context together with known latents; the data are not encoded again."""
        if self.latent_parts is None:
            raise InputError(missing_latents(self))
        known = tuple(self.latent_parts.indices(list(latents)))
        numbers = self.latent_parts.encoded(latents).to(self.decoder.weight)
        offered = self.transformer.offered(self.latent_parts.known_tokens(numbers, known), memory.data_layers)
        layers = [mine.joined(theirs) for mine, theirs in zip(memory.data_layers, offered, strict=True)]
        solved = None if memory.solved is None else memory.solved.given(known, numbers)
        return Memory(layers, solved, memory.data_layers, known, numbers)

    @property
    def grows(self) -> bool:
        """See `Answering.grows`: keys and values do, what a solver keeps does not."""
        return self.settings.layers > 0

    def kept(self, memory: Memory) -> KeptMemory | None:
        """See `Answering.kept`."""
        solved = None if memory.solved is None else memory.solved.kept()
        if memory.solved is not None and solved is None:
            return None
        return KeptMemory(memory.layers, solved, memory.data_layers, memory.known, memory.numbers)

    def resumed(self, kept: KeptMemory) -> Memory:
        """See `Answering.resumed`."""
        solved = None if self.solver is None else self.solver.resumed(kept.solved)
        return Memory(kept.layers, solved, kept.data_layers, kept.known, kept.numbers)

    def with_points(
        self, memory: Memory, context_x: Num[Tensor, "batch more features"], context_y: Num[Tensor, "batch more"]
    ) -> Memory | None:
        """See `Answering.with_points`: a solver alone may go on; units of the context would change with it."""
        if self.grows or memory.solved is None or self.settings.target_scaling == "context":
            return None
        solved = memory.solved.with_points(context_x, context_y)
        return None if solved is None else replace(memory, solved=solved)

    def answer(self, query_x: Float[Tensor, "batch query features"], memory: Memory) -> Distribution:
        """The predictive of each query, as `forward` gives it."""
        queries, guess = self._query_tokens(query_x, memory.solved)
        return self._answer(self.transformer.predict(queries, memory.layers), guess)

    def joint_normals(self, query_x: Float[Tensor, "batch query features"], memory: Memory) -> JointNormals | None:
        """See `Answering.joint_normals`; known latents change the margins, and the solver has not seen them."""
        return None if memory.solved is None or memory.known else memory.solved.joint(query_x)

    def _context_tokens(
        self,
        context_x: Float[Tensor, "batch context features"],
        context_y: Num[Tensor, "batch context"],
        solved: Solved | None,
    ) -> Float[Tensor, "batch tokens width"]:
        """The tokens of a context; without layers nobody would read them."""
        if not self.settings.layers:
            return context_x.new_zeros(len(context_x), 0, self.settings.width)
        tokens = self.positions(self.input_encoder(context_x) + self.target_encoder(context_y))
        return tokens if solved is None else tokens + self.guess_encoder.labelled(solved.leave_one_out(), context_y)

    def _query_tokens(
        self, query_x: Float[Tensor, "batch query features"], solved: Solved | None
    ) -> tuple[Float[Tensor, "batch query width"], FirstGuess | None]:
        """The tokens of queries, and the solver's guess if there is one."""
        tokens = self.input_encoder(query_x)
        if solved is None:
            return tokens, None
        guess = solved.predict(query_x)
        return tokens + self.guess_encoder(guess), guess

    def _answer(self, states: Float[Tensor, "batch query width"], guess: FirstGuess | None) -> Distribution:
        return self.head(self.decoder(states), None if guess is None else guess.ppd)

    def loss(self, batch: Batch) -> Float[Tensor, "batch query"]:
        """The Prior-Data NLL of each query: of its drawn y, or in expectation where there is a ``batch.query_law``."""
        units = self.scaling(batch.context_y)
        if self.latent_parts is None or not batch.latents:
            ppd, solved = self(batch.context_x, units.to_model(batch.context_y), batch.query_x)
            latent_loss = None
        else:
            ppd, solved, latent_loss = self._with_latents(self.latent_parts, batch, units.to_model(batch.context_y))
        query_y = units.to_model(batch.query_y)
        if batch.query_law is None:
            losses = units.log_scale - ppd.log_prob(query_y)
        else:
            losses = units.log_scale - self.head.expected_log_prob(ppd, units.law_to_model(batch.query_law), query_y)
        if latent_loss is not None:  # as much at every n: not in proportion to the queries that are left
            num_points = batch.context_y.shape[1] + batch.query_y.shape[1]
            losses = losses + LATENT_WEIGHT * num_points / batch.query_y.shape[1] * latent_loss[:, None]
        weight = 0.0 if self.settings.solver is None else self.settings.solver.evidence_weight
        if solved is None or not weight:
            return losses
        per_point = solved.log_evidence / max(batch.context_y.shape[1], 1)
        return losses - weight * per_point[:, None].to(self.dtype)

    def _with_latents(
        self, parts: LatentParts, batch: Batch, context_y: Num[Tensor, "batch context"]
    ) -> tuple[Distribution, Solved | None, Float[Tensor, " batch"]]:
        """As `forward`, with the latents that the batch shows; then the mean NLL of those that it does not."""
        solved = None if self.solver is None else self.solver.condition(batch.context_x, context_y)
        numbers = parts.encoded(batch.latents).to(self.dtype)  # (batch, numbers)
        context = self._context_tokens(batch.context_x, context_y, solved)
        told = None if solved is None else solved.given(batch.known, numbers[:, list(batch.known)])
        queries, guess = self._query_tokens(batch.query_x, told)
        guesses = self.solver is not None and self.solver.guesses_latents  # of what all tokens are shown alike
        shown, asked, seen = parts.seen(batch.known, () if guesses else batch.chain, queries.shape[1])
        latent_guess = None if told is None else told.latent_guess(asked)
        known = parts.known_tokens(numbers[:, shown], shown)
        tokens = torch.cat([context, known, queries, parts.asked_tokens(asked, len(context), latent_guess)], dim=1)
        states = self.transformer.forward_with(tokens, context.shape[1], len(shown), seen)
        unused = sum(weight.sum() for weight in parts.parameters()) * 0.0  # all weights have gradients in every step
        if asked:
            log_prob = parts.log_prob(states[:, queries.shape[1] :], asked, numbers[:, asked], latent_guess)
            unused = unused - log_prob.mean(1)
        return self._answer(states[:, : queries.shape[1]], guess), solved, unused + torch.zeros_like(numbers[:, 0])

    def condition(self, context_x: Values, context_y: Values, **latents: Values | float) -> PFNPosterior:
        """Run the context through the network once and keep its keys and values; an empty context is the prior.

        Tensors, arrays, lists and frames are taken in the user's units: ``context_x (*batch, context, columns)``,
        ``context_y (*batch, context)``. A model with free units sees them in units of the context, and one that
        takes fewer columns than it has inputs sees them padded, as in its training. Latents of the prior that are
        known are given by name, one value for all datasets or one for each.
        """
        if self.solver is not None:
            require_precision(self.dtype)
        x, y = checked_context(context_x, context_y, self.problem)
        reading = reading_of(x, y, self.problem)
        inputs = self.readable_inputs(reading.inputs(x), "context_x")
        targets = readable(reading.targets(y), inputs, "context_y")
        warn_of_context(inputs, targets, self.problem, self.card)
        units = self.scaling(targets)
        memory = self.encoded(inputs, units.to_model(targets))
        if latents:
            memory = self.shown(memory, self.known_latents(latents, reading.batch_shape))
        return PFNPosterior(self, memory, reading, units, (inputs, targets), Asked(x, y, latents))

    def known_latents(
        self, latents: dict[str, Values | float], batch_shape: torch.Size
    ) -> dict[str, Num[Tensor, "datasets size"]]:
        """Known latents of each dataset, refused where they are unknown to the prior or outside of their supports."""
        if self.latent_parts is None:
            raise InputError(missing_latents(self))
        known = known_values(self.problem.latents, latents, batch_shape)
        for space in self.problem.latents:
            if space.name in known:
                space.check(known[space.name])
        return known


def standard_residuals() -> Float[Tensor, " sample"]:
    """A sample of the standard Normal: what bars are laid over where a guess gives the units."""
    return torch.special.ndtri(torch.linspace(5e-5, 1 - 5e-5, 10_000))
