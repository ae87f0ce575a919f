"""The attentive neural process of Kim et al. (2019): the other model that learns to predict from datasets."""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution, Normal, kl_divergence

from priorfit.baselines.neural_process.parts import DeterministicPath, LatentPath, perceptron
from priorfit.data import Batch, Classes
from priorfit.distributions import NormalMixture
from priorfit.errors import InputError
from priorfit.network import Model, ModelCard, Problem
from priorfit.network.encoders.targets import target_encoder
from priorfit.network.limits import warn_of_context, warn_of_inputs
from priorfit.network.reading import Reading, reading_of
from priorfit.network.units import scaling_for
from priorfit.network.validation import checked_context, checked_queries, readable
from priorfit.seeding import seeded
from priorfit.values import Values

if TYPE_CHECKING:
    from priorfit.baselines.neural_process.settings import NeuralProcessSettings

QUERIES_AT_ONCE = 1024
LOG_SCALE_RANGE = (-7.0, 3.0)
"""Bounds of a predicted log scale, as in the PFN's heads; the original's floor of 0.1 is wider than some posteriors."""


class AttentiveNeuralProcess(Model):
    """A deterministic path (queries attend to the context) and a latent one (one vector for the whole function).

    Training maximises the evidence lower bound: the likelihood of the queries under a latent that has seen them,
    less the divergence of that latent from the one of the context alone. A prediction is the mixture over
    ``num_latents`` draws of the context's latent, the same for every dataset. Train it with a recipe whose
    ``network`` is a `NeuralProcessSettings`; it learns from drawn targets alone.

    >>> import priorfit as pf
    >>> settings = pf.baselines.NeuralProcessSettings(width=16, heads=2)
    >>> process = settings.build(Problem(1, pf.Real(), (0.0, 1.0)))
    >>> posterior = process.frozen().condition(torch.rand(8, 20, 1), torch.randn(8, 20))
    >>> posterior.predict(torch.rand(8, 5, 1)).mean.shape
    torch.Size([8, 5])
    """

    def __init__(
        self,
        settings: "NeuralProcessSettings",
        problem: Problem,
        card: ModelCard | None = None,
        target_sample: Num[Tensor, "batch points"] | None = None,
    ) -> None:
        """Build a process before training; ``target_sample`` holds targets of the prior, for their units."""
        super().__init__(settings, problem, card)
        self.num_latents, width = settings.num_latents, settings.width
        self.input_encoder = settings.encoder.build(problem.num_features, width, problem.input_range)
        self.target_encoder = target_encoder(problem.outcome, width)
        self.deterministic, self.latent = DeterministicPath(settings), LatentPath(settings)
        self.decoder = perceptron(3 * width, width, num_outputs(problem), settings.layers + 1)
        self.scaling = scaling_for(problem.outcome, "prior")
        if target_sample is not None:
            self.scaling.calibrate(target_sample)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights; inputs are cast to it."""
        return self.latent.encoder.empty.dtype

    def loss(self, batch: Batch) -> Float[Tensor, "batch query"]:
        """The negative evidence lower bound, its divergence shared out equally among the queries."""
        if batch.query_law is not None:
            raise InputError('an attentive neural process learns from drawn targets: set targets="sampled".')
        units = self.scaling(batch.context_y)
        inputs, query_inputs = self.input_encoder(batch.context_x), self.input_encoder(batch.query_x)
        context = inputs + self.target_encoder(units.to_model(batch.context_y))
        query_y = units.to_model(batch.query_y)
        everything = torch.cat([context, query_inputs + self.target_encoder(query_y)], dim=1)
        before, after = self.latent(context), self.latent(everything)
        found = self.deterministic(query_inputs, inputs, context)
        ppd = likelihood(self.decoded(query_inputs, found, after.rsample()[:, None]), self.problem)
        divergence = kl_divergence(after, before).sum(-1, keepdim=True) / query_y.shape[1]  # (batch, 1)
        return units.log_scale - ppd.log_prob(query_y) + divergence

    def decoded(
        self,
        query_inputs: Float[Tensor, "*latents batch query width"],
        found: Float[Tensor, "*latents batch query width"],
        latent: Float[Tensor, "*latents batch 1 width"],
    ) -> Float[Tensor, "*latents batch query outputs"]:
        """The numbers of each query's distribution under given latents."""
        return self.decoder(torch.cat([query_inputs, found, latent.expand_as(found)], dim=-1))

    def condition(self, context_x: Values, context_y: Values) -> "NeuralProcessPosterior":
        """See `Predictor.condition`; the latents are drawn here."""
        x, y = checked_context(context_x, context_y, self.problem)
        reading, weight = reading_of(x, y, self.problem), next(self.parameters())
        flat_x = readable(reading.inputs(x), weight, "context_x")
        flat_y = readable(reading.targets(y), weight, "context_y")
        warn_of_context(flat_x, flat_y, self.problem, self.card)
        inputs = self.input_encoder(flat_x)
        pairs = inputs + self.target_encoder(self.scaling(flat_y).to_model(flat_y))
        belief = self.latent(pairs)
        with seeded(0):
            white = torch.randn(self.num_latents, 1, belief.loc.shape[-1]).to(belief.loc)
        latents = belief.loc + belief.scale * white  # (latents, batch, width)
        return NeuralProcessPosterior(self, inputs, pairs, latents[:, :, None], reading)


class NeuralProcessPosterior:
    """The tokens of a context and draws of its latent; a `Posterior`."""

    def __init__(
        self,
        process: AttentiveNeuralProcess,
        inputs: Float[Tensor, "batch context width"],
        pairs: Float[Tensor, "batch context width"],
        latents: Float[Tensor, "latents batch 1 width"],
        reading: Reading,
    ) -> None:
        self._process, self._inputs, self._pairs, self._latents = process, inputs, pairs, latents
        self._reading = reading

    def predict(self, query_x: Values) -> Distribution:
        """The mixture over the latents, for each query."""
        process, reading = self._process, self._reading
        x = checked_queries(query_x, reading.batch_shape, reading.num_columns, process.problem)
        flat = readable(reading.inputs(x), next(process.parameters()), "query_x")
        warn_of_inputs(flat, process.problem)
        outputs = torch.cat([self._outputs(chunk) for chunk in flat.split(QUERIES_AT_ONCE, dim=1)], dim=2)
        outputs = outputs.reshape(len(self._latents), *x.shape[:-1], outputs.shape[-1])
        units = process.scaling(outputs.new_zeros(len(flat), 0))
        return reading.to_user(mixture(likelihood(outputs, process.problem)), units)

    def _outputs(self, query_x: Float[Tensor, "batch query features"]) -> Float[Tensor, "latents batch query outputs"]:
        process, count = self._process, len(self._latents)
        inputs = process.input_encoder(query_x)
        found = process.deterministic(inputs, self._inputs, self._pairs)
        return process.decoded(inputs.expand(count, -1, -1, -1), found.expand(count, -1, -1, -1), self._latents)


def num_outputs(problem: Problem) -> int:
    """How many numbers describe one query's distribution."""
    return problem.outcome.count if isinstance(problem.outcome, Classes) else 2


def likelihood(outputs: Float[Tensor, "*batch outputs"], problem: Problem) -> Normal | Categorical:
    """The distribution of y under one latent, in the network's units."""
    if isinstance(problem.outcome, Classes):
        return Categorical(logits=outputs, validate_args=False)
    return Normal(outputs[..., 0], outputs[..., 1].clamp(*LOG_SCALE_RANGE).exp(), validate_args=False)


def mixture(each: Normal | Categorical) -> Distribution:
    """The average over the first axis of a distribution's batch."""
    if isinstance(each, Normal):
        loc, scale = each.loc.movedim(0, -1), each.scale.movedim(0, -1)
        return NormalMixture(torch.zeros_like(loc), loc, scale, validate_args=False)
    log_probs = each.logits.logsumexp(0).log_softmax(-1)
    return Categorical(logits=log_probs, validate_args=False)
