"""The first guess of a solver as a part of the tokens of points."""

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from priorfit.network.solver.solver import FirstGuess


class GuessEncoder(nn.Module):
    """One linear layer from a first guess, and from a labelled point's surprise at it, to a token."""

    def __init__(self, num_numbers: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(num_numbers + 1, width)

    def forward(self, guess: FirstGuess) -> Float[Tensor, "batch query width"]:
        """Tokens of queries: a point whose target is not known has no surprise."""
        return nn.functional.linear(guess.features, self.linear.weight[:, :-1], self.linear.bias)

    def labelled(self, guess: FirstGuess, y: Num[Tensor, "batch points"]) -> Float[Tensor, "batch points width"]:
        """Tokens of context points: the leave-one-out guess of each, and how far its target is from that."""
        return self.linear(torch.cat([guess.features, guess.surprise(y)[..., None]], dim=-1))
