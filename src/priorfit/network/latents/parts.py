"""The modules for latents: a token for each number of a latent, known or asked about, and the density of an answer."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution

from priorfit.network.heads.guess import AdjustedGuess
from priorfit.network.heads.head import at_least_float32
from priorfit.network.heads.mixture import MixtureOfNormals
from priorfit.network.latent_spaces import LatentSpace
from priorfit.network.solver.solver import FirstGuess
from priorfit.network.solver.tokens import GuessEncoder

COMPONENTS = 10
"""Normals in the density of a real latent's coordinate."""

FREQUENCIES = 8
"""Sines and cosines of a coordinate that its token is made of, beside the coordinate itself."""

States = Float[Tensor, "batch tokens width"]


class LatentParts(nn.Module):
    """Tokens and densities of all numbers of all latents, which are numbered in the order in which they were named.

    A known number's token is a linear map, of its own, of sines and cosines of its coordinate; the token of a number
    that is asked about is learned. Real numbers have a mixture of Normals over their coordinate, classes have logits.
    Where a solver knows the latents, ``guessed`` numbers tell a token of its guess, which the density then corrects.
    """

    frequencies: Tensor

    def __init__(self, spaces: Sequence[LatentSpace], width: int, guessed: int = 0) -> None:
        super().__init__()
        self.spaces = tuple(spaces)
        self.places = [(space, index) for space in self.spaces for index in range(space.size)]
        count = len(self.places)
        most = max((space.count for space in self.spaces), default=0)
        self.register_buffer("frequencies", 0.25 * 2 ** torch.linspace(0, 4, FREQUENCIES))
        self.asked = nn.Parameter(0.5 * torch.randn(count, width))
        self.identity = nn.Parameter(0.5 * torch.randn(count, width))
        self.values = nn.Parameter(torch.randn(count, 2 * FREQUENCIES + 1, width) / (2 * FREQUENCIES + 1) ** 0.5)
        self.labels = nn.Parameter(0.5 * torch.randn(count, max(most, 1), width))
        self.head = AdjustedGuess(COMPONENTS) if guessed else MixtureOfNormals(COMPONENTS)
        self.guess_encoder = GuessEncoder(guessed, width) if guessed else None
        self.density = nn.Linear(width, self.head.num_parameters)
        nn.init.zeros_(self.density.weight)
        with torch.no_grad():
            self.density.bias.copy_(self.head.initial_bias())
        self.logits = nn.Linear(width, max(most, 1))
        nn.init.zeros_(self.logits.weight)

    @property
    def count(self) -> int:
        """How many numbers there are in all."""
        return len(self.places)

    def indices(self, names: Sequence[str]) -> list[int]:
        """The numbers of some latents."""
        return [number for number, (space, _) in enumerate(self.places) if space.name in names]

    def encoded(self, latents: Mapping[str, Num[Tensor, "... size"]]) -> Float[Tensor, "... numbers"]:
        """Coordinates, or labels, of the latents that are given, in the order of their numbers."""
        given = [space for space in self.spaces if space.name in latents]
        return torch.cat([space.encoded(latents[space.name]) for space in given], dim=-1)

    def decoded(self, numbers: Float[Tensor, "... numbers"]) -> dict[str, Num[Tensor, "... size"]]:
        """The latents at the coordinates of all numbers."""
        parts = numbers.split([space.size for space in self.spaces], dim=-1)
        return {space.name: space.decoded(part) for space, part in zip(self.spaces, parts, strict=True)}

    def asked_tokens(self, index: Sequence[int], batch_size: int, guess: FirstGuess | None) -> States:
        """Tokens that ask about some numbers; a solver's guess of them is told."""
        tokens = self.asked[list(index)].expand(batch_size, -1, -1)
        return tokens if guess is None or self.guess_encoder is None else tokens + self.guess_encoder(guess)

    def known_tokens(self, numbers: Float[Tensor, "batch tokens"], index: Sequence[int]) -> States:
        """Tokens of known numbers; ``index`` says which number each column is."""
        angles = numbers[..., None] * self.frequencies
        features = torch.cat([numbers[..., None], angles.sin(), angles.cos()], dim=-1).to(self.values.dtype)
        reals = torch.einsum("btf,tfw->btw", features, self.values[list(index)])
        places = torch.arange(len(index), device=numbers.device)
        labels = self.labels[list(index)][places, self._label(numbers)]  # (batch, tokens, width)
        flags = [self.is_class(number) for number in index]
        is_class = torch.tensor(flags, dtype=torch.bool, device=numbers.device)[:, None]
        return torch.where(is_class, labels, reals) + self.identity[list(index)]

    def _label(self, numbers: Float[Tensor, "batch tokens"]) -> Int[Tensor, "batch tokens"]:
        return numbers.clamp(0, self.labels.shape[1] - 1).long()

    def is_class(self, number: int) -> bool:
        """Whether a number is a label."""
        return self.places[number][0].kind == "classes"

    def seen(
        self, known: Sequence[int], chain: Sequence[int], num_queries: int
    ) -> tuple[list[int], list[int], Bool[Tensor, "query shown"] | None]:
        """The numbers that are shown, those that are asked about, and which of the former each query sees (None: all).

        Queries of y, which come first, see what is known, and so does one query of each unknown number. Numbers of the
        chain after its first are asked about once more, given those before them.
        """
        shown, unknown = [*known, *chain[:-1]], [number for number in range(self.count) if number not in known]
        asked = [*unknown, *chain[1:]]
        told = [len(known)] * (num_queries + len(unknown)) + [len(known) + place for place in range(1, len(chain))]
        seen = torch.arange(len(shown)) < torch.tensor(told)[:, None]
        return shown, asked, seen.to(self.frequencies.device) if chain else None

    def law(self, states: Float[Tensor, "... width"], number: int, guess: FirstGuess | None) -> Distribution:
        """The density of a number's coordinate, or the probabilities of its classes."""
        if self.is_class(number):
            logits = at_least_float32(self.logits(states))[..., : self.places[number][0].count]
            return Categorical(logits=logits, validate_args=False)
        return self._reals(states, guess)

    def _reals(self, states: Float[Tensor, "... width"], guess: FirstGuess | None) -> Distribution:
        return self.head(self.density(states), None if guess is None else guess.ppd)

    def log_prob(
        self,
        states: States,
        index: Sequence[int],
        numbers: Float[Tensor, "batch tokens"],
        guess: FirstGuess | None = None,
    ) -> Float[Tensor, "batch tokens"]:
        """The log density of coordinates, and log probability of labels, each under its own answer."""
        reals = self._reals(states, guess).log_prob(numbers)
        if not any(self.is_class(number) for number in index):
            return reals
        parts = [
            self.law(states[:, column], number, None).log_prob(numbers[:, column])
            if self.is_class(number)
            else reals[:, column]
            for column, number in enumerate(index)
        ]
        return torch.stack(parts, dim=1)
