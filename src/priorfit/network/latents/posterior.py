"""The posterior of the latents that a conditioned network gives: a density for each, and joint draws of all."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.normal_mixture import NormalMixture
from priorfit.distributions.weighted_draws import WeightedDraws
from priorfit.errors import InputError, UnknownLatentError
from priorfit.network.attention.attention import KeysValues
from priorfit.network.latents.densities import LatentDensity
from priorfit.network.latents.parts import LatentParts
from priorfit.network.latents.spaces import LatentSpace

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
            tokens = self._parts.asked_tokens(index, self._datasets)
            states = self._model.transformer.predict(tokens, self._memory.layers)
            return self._shaped(self._parts.law(states, index[0]), space)

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
        repeats: draws share numbers, and so that few of them cover the posterior, the first is then stratified.
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
        with torch.no_grad():
            for number in unknown:
                law = self._parts.law(self._states(number, count, earlier), number)
                if number == unknown[-1] and repeats > 1:
                    law = repeated(law, repeats)
                    numbers, total = (each.repeat_interleave(repeats, 1) for each in (numbers, total))
                if repeats:
                    is_shared = number == unknown[0] and repeats > 1
                    numbers[..., number] = (stratified(law) if is_shared else law.sample()).to(numbers)
                total = total + law.log_prob(numbers[..., number]).double()
                if number != unknown[-1]:
                    earlier.append(self._offered(numbers[..., [number]], number))
        return Chain(numbers, total)

    def _offered(self, value: Float[Tensor, "datasets draws 1"], number: int) -> list[KeysValues]:
        """What later queries see of a number that was drawn, one key for each draw in every layer."""
        tokens = self._parts.known_tokens(value.flatten(0, 1), [number]).unflatten(0, value.shape[:2])[:, :, 0]
        return self._model.transformer.offered(tokens, self._memory.data_layers)

    def _states(self, number: int, count: int, earlier: list) -> Float[Tensor, "datasets draws width"]:
        tokens = self._parts.asked_tokens([number], self._datasets)  # (datasets, 1, width)
        if not earlier:
            return self._model.transformer.predict(tokens, self._memory.layers).expand(-1, count, -1)
        own = [list(layer) for layer in zip(*earlier, strict=True)]
        return self._model.transformer.predict_each(tokens.expand(-1, count, -1), self._memory.layers, own)


def stratified(law: Distribution) -> Num[Tensor, "datasets draws"]:
    """One draw from each of ``draws`` strata of equal probability, of a law that is the same for all draws."""
    datasets, count = law.batch_shape
    levels = (torch.arange(count) + torch.rand(datasets, count)) / count
    if isinstance(law, Categorical):
        return torch.searchsorted(law.probs[:, 0].cumsum(-1), levels.to(law.probs)).clamp(max=law.probs.shape[-1] - 1)
    return cast(Tensor, law.icdf(levels.clamp(1e-6, 1 - 1e-6)))


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
