"""The posterior of the latents that a conditioned network gives: a density for each, and joint draws of all."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.weighted_draws import WeightedDraws
from priorfit.errors import InputError, UnknownLatentError
from priorfit.importance.sobol import sobol_points
from priorfit.network.attention.attention import KeysValues
from priorfit.network.latent_spaces import LatentSpace
from priorfit.network.latents.densities import LatentDensity
from priorfit.network.latents.parts import LatentParts
from priorfit.network.solver.solver import FirstGuess, Solved

if TYPE_CHECKING:
    from priorfit.network.pfn import PFN, Memory


@dataclass(frozen=True)
class Chain:
    """Joint draws of all numbers by the chain rule: ``(datasets, draws, numbers)``, and their log density."""

    numbers: Float[Tensor, "datasets draws numbers"]
    log_prob: Float[Tensor, "datasets draws"]
    """The log density of the coordinates that were unknown, in float64."""


class LatentPosterior(Mapping[str, Distribution]):
    """p(latent | context) of each latent by name: ``posterior.latents["decay"].icdf(0.95)``; `sample` is joint.

    A latent that is a single number has batch shape ``(*batch)``, a vector ``(*batch, size)``.
    """

    def __init__(self, model: "PFN", memory: "Memory", batch_shape: torch.Size) -> None:
        if model.latent_parts is None:
            raise InputError(missing_latents(model))
        self._model, self._memory, self._batch_shape = model, memory, batch_shape
        self._parts: LatentParts = model.latent_parts

    @property
    def parts(self) -> LatentParts:
        """The modules of the latents."""
        return self._parts

    def log_slope(self, numbers: Float[Tensor, "datasets draws numbers"]) -> Float[Tensor, "datasets draws"]:
        """``log |d latents / d coordinates|`` of those that are unknown, in float64."""
        unknown = [space.name not in self._known_names for space in self._parts.spaces]
        parts = numbers.split([space.size for space in self._parts.spaces], dim=-1)
        pairs = zip(self._parts.spaces, parts, unknown, strict=True)
        slopes = [space.log_slope(part).sum(-1) for space, part, is_unknown in pairs if is_unknown]
        return torch.stack(slopes).sum(0) if slopes else torch.zeros(numbers.shape[:2], dtype=torch.float64)

    @property
    def _known_names(self) -> set[str]:
        return {self._parts.places[number][0].name for number in self._memory.known}

    def __iter__(self) -> Iterator[str]:
        return (space.name for space in self._parts.spaces)

    def __len__(self) -> int:
        return len(self._parts.spaces)

    def __getitem__(self, name: str) -> Distribution:
        space = next((space for space in self._parts.spaces if space.name == name), None)
        if space is None:
            raise UnknownLatentError(f"there is no latent {name!r}; the latents are {', '.join(self)}.")
        index = self._parts.indices([name])
        with torch.no_grad():
            if index[0] in self._memory.known:
                return self._point_mass(space, index)
            guess = None if self._memory.solved is None else self._memory.solved.latent_guess(index)
            tokens = self._parts.asked_tokens(index, self._datasets, guess)
            states = self._model.transformer.predict(tokens, self._memory.layers)
            return self._shaped(self._parts.law(states, index[0], guess), space)

    @property
    def _datasets(self) -> int:
        return self._batch_shape.numel()

    def _shaped(self, law: Distribution, space: LatentSpace) -> Distribution:
        shape = (*self._batch_shape, space.size) if space.size > 1 else tuple(self._batch_shape)
        if isinstance(law, Categorical):
            return Categorical(logits=law.logits.reshape(*shape, -1), validate_args=False)
        assert isinstance(law, NormalMixture)
        parameters = (part.reshape(*shape, part.shape[-1]) for part in (law.logits, law.loc, law.scale))
        return LatentDensity(NormalMixture(*parameters, validate_args=False), space)

    def _point_mass(self, space: LatentSpace, index: list[int]) -> WeightedDraws:
        known = list(self._memory.known)
        numbers = self._memory.numbers[:, [known.index(number) for number in index]]
        shape = (*self._batch_shape, space.size) if space.size > 1 else tuple(self._batch_shape)
        value = space.decoded(numbers).double().reshape(*shape, 1)
        return WeightedDraws(torch.zeros_like(value), value)

    def sample(self, count: int) -> dict[str, Num[Tensor, "count *batch_and_size"]]:
        """Joint draws of all latents, ``(count, *batch)`` each, of vectors ``(count, *batch, size)``.

        The context is encoded once: each draw goes through the network as one query for each number, which sees the
        context and the numbers drawn before it.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InputError(f"count must be a whole number of at least 1; got {count!r}.")
        drawn = self._parts.decoded(self.chain(count).numbers)
        return {name: self._arranged(value, count) for name, value in drawn.items()}

    def _arranged(self, value: Num[Tensor, "datasets draws size"], count: int) -> Num[Tensor, "count *batch_and_size"]:
        shaped = value.movedim(1, 0).reshape(count, *self._batch_shape, value.shape[-1])
        return shaped if value.shape[-1] > 1 else shaped[..., 0]

    def chain(self, count: int, repeats: int = 1) -> Chain:
        """Draw number after number; the last is drawn ``repeats`` times for each of ``count`` draws of all others.

        All ``count * repeats`` draws have the density that is given with them, but are independent only without
        repeats: draws share numbers, and so that few of them cover the posterior, they are then at Sobol points.
        """
        return self._chained(torch.zeros(self._datasets, count, self._parts.count), repeats)

    def density(self, numbers: Float[Tensor, "datasets draws numbers"]) -> Chain:
        """The joint density of numbers that are given."""
        return self._chained(numbers.float(), 0)

    def _chained(self, numbers: Float[Tensor, "datasets draws numbers"], repeats: int) -> Chain:
        """Number after number, drawn or, with no repeats, as given; the network is asked once for each draw."""
        memory, count = self._memory, numbers.shape[1]
        numbers = numbers.to(self._model.decoder.weight.device)
        if memory.known:
            numbers[..., list(memory.known)] = memory.numbers[:, None].to(numbers)
        unknown = [number for number in range(self._parts.count) if number not in memory.known]
        total = torch.zeros(self._datasets, count, dtype=torch.float64, device=numbers.device)
        earlier: list[list[KeysValues]] = []
        solved = memory.solved
        levels = sobol_levels(len(unknown), count, repeats) if repeats > 1 else None
        with torch.no_grad():
            for place, number in enumerate(unknown):
                guess = None if solved is None else solved.latent_guess([number])
                law = self._law(number, count, earlier, guess)
                if number == unknown[-1] and repeats > 1:
                    law = repeated(law, repeats)
                    numbers, total = (each.repeat_interleave(repeats, 1) for each in (numbers, total))
                if repeats:
                    drawn = law.sample() if levels is None else drawn_at(law, levels[place].to(numbers))
                    numbers[..., number] = drawn.to(numbers)
                total = total + law.log_prob(numbers[..., number]).double()
                if number != unknown[-1]:
                    earlier.append(self._offered(numbers[..., [number]], number))
                    solved = self._given(solved, number, numbers[..., number], is_first=place == 0)
        return Chain(numbers, total)

    def _offered(self, value: Float[Tensor, "datasets draws 1"], number: int) -> list[KeysValues]:
        """What later queries see of a number that was drawn, one key for each draw in every layer."""
        tokens = self._parts.known_tokens(value.flatten(0, 1), [number]).unflatten(0, value.shape[:2])[:, :, 0]
        return self._model.transformer.offered(tokens, self._memory.data_layers)

    def _given(
        self, solved: Solved | None, number: int, drawn: Float[Tensor, "datasets draws"], is_first: bool
    ) -> Solved | None:
        """What a solver knows given a number that was drawn: each draw is a dataset of its own from the first on."""
        if solved is None or solved.latent_guess([number]) is None:
            return solved
        return solved.given_draws(number, drawn) if is_first else solved.given([number], drawn.flatten()[:, None])

    def _law(self, number: int, count: int, earlier: list, guess: FirstGuess | None) -> Distribution:
        """The law of a number for each of ``count`` draws of those before it: batch shape (datasets, draws)."""
        transformer, layers = self._model.transformer, self._memory.layers
        if not earlier:
            states = transformer.predict(self._parts.asked_tokens([number], self._datasets, guess), layers)
            law = self._parts.law(states, number, guess)
            return repeated(law, count) if count > 1 else law
        own = [list(layer) for layer in zip(*earlier, strict=True)]
        batch = self._datasets if guess is None else self._datasets * count
        tokens = self._parts.asked_tokens([number], batch, guess)  # (datasets, 1, width), or one for each draw
        tokens = tokens.expand(-1, count, -1) if guess is None else tokens.unflatten(0, (-1, count))[:, :, 0]
        states = transformer.predict_each(tokens, layers, own)  # (datasets, draws, width)
        if guess is None:
            return self._parts.law(states, number, None)
        law = self._parts.law(states.flatten(0, 1)[:, None], number, guess)
        assert isinstance(law, NormalMixture)  # a solver guesses real numbers alone
        parts = (part[:, 0].unflatten(0, (-1, count)) for part in (law.logits, law.loc, law.scale))
        return NormalMixture(*parts, validate_args=False)


def sobol_levels(dimensions: int, count: int, repeats: int) -> list[Float[Tensor, " draws"]]:
    """Uniform levels of each number at scrambled Sobol points; the last one has ``repeats`` strata at each point."""
    *first, last = sobol_points(max(dimensions, 1), count).unbind(-1)
    return [*first, ((torch.arange(repeats) + last[:, None]) / repeats).flatten()]


def drawn_at(law: Distribution, levels: Float[Tensor, " draws"]) -> Num[Tensor, "datasets draws"]:
    """Draws of a law ``(datasets, draws)`` at uniform levels: which component, and within it the rest of the level.

    Components are in the order of their means, so that levels near each other give draws near each other.
    """
    if isinstance(law, Categorical):
        place, _ = component_at(law.probs, levels)
        return place
    assert isinstance(law, NormalMixture)
    loc, order = law.loc.sort(-1)
    place, rest = component_at(law.logits.softmax(-1).gather(-1, order), levels)
    scale = law.scale.gather(-1, order)
    chosen = (part.gather(-1, place[..., None])[..., 0] for part in (loc, scale))
    return next(chosen) + next(chosen) * torch.special.ndtri(rest.clamp(1e-6, 1 - 1e-6))


def component_at(
    probs: Float[Tensor, "datasets draws components"], levels: Float[Tensor, " draws"]
) -> tuple[Int[Tensor, "datasets draws"], Float[Tensor, "datasets draws"]]:
    """The component whose share of [0, 1] a level is in, and how far in it the level is."""
    upper = probs.cumsum(-1)
    levels = levels.to(upper).expand(upper.shape[:-1])[..., None]
    place = (levels > upper).sum(-1, keepdim=True).clamp(max=upper.shape[-1] - 1)
    share = probs.gather(-1, place)
    rest = (levels - upper.gather(-1, place) + share) / share.clamp_min(1e-12)
    return place[..., 0], rest[..., 0]


def repeated(law: Distribution, repeats: int) -> Distribution:
    """A law of batch shape ``(datasets, draws)`` with each of its draws repeated."""
    if isinstance(law, Categorical):
        return Categorical(logits=law.logits.repeat_interleave(repeats, 1), validate_args=False)
    assert isinstance(law, NormalMixture)
    parameters = (part.repeat_interleave(repeats, 1) for part in (law.logits, law.loc, law.scale))
    return NormalMixture(*parameters, validate_args=False)


def missing_latents(model: "PFN") -> str:
    """Why a network says nothing about latents."""
    if not getattr(model.settings, "layers", 1):  # networks of other kinds have settings of their own
        return "a network without layers has no tokens for latents; train one with NetworkSettings(layers=...) above 0."
    return (
        "this network knows no latents: its prior names none. Name them, @pf.prior(num_features=1, decay=Uniform(0.0, "
        "3.0)), and train a network on that prior."
    )
