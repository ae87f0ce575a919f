"""Where the regressions of a `LatentSolver` are put for each dataset, by the evidence at its anchors."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from priorfit.network.solver.families import Latents
from priorfit.network.solver.gaussian import Evidence
from priorfit.network.solver.statistics import Statistics

CHOOSER = 64
"""Hidden units between the evidence at the anchors and the nodes that are chosen by it."""
TEMPERATURES = (1.0, 0.3, 0.1, 0.03)
"""Powers of the evidence that the choice is made by: the first are sharp, the last tell of every anchor."""
FIRST_TEMPERATURE = 0.3
"""The power of the evidence whose weighted mean of the anchors starts the search for the nodes."""
FARTHEST = 6.0
"""Prior deviations of the latents to which the middle of the nodes is bounded. The posteriors of contexts that people
set by hand lie at 3 to 4: eight points on a line want a lengthscale of 2.5, which the prior exceeds once in 25,000
draws."""
LARGEST_SHIFT = 4.0
"""Bound of the way from the weighted mean of the anchors to the middle of the nodes: contexts that are rare under the
prior have their posterior outside of the anchors' hull."""
LEAST_SQUARE = 1e-4
"""What is added to the mean square of the targets before its logarithm is told."""
TOLD_LESS = 4.0
"""Logarithms are divided by this before the chooser reads them, which brings them to the size of the shares."""


def chooser_of(anchors: int, latents: int) -> nn.Sequential:
    """The layers between the evidence at the anchors and the nodes; before training all datasets have the same."""
    num_inputs = len(TEMPERATURES) * (anchors + 2 * latents) + anchors + latents + 3
    last = nn.Linear(CHOOSER, 2 * latents + latents * (latents - 1) // 2)
    for parameter in last.parameters():
        nn.init.zeros_(parameter)
    return nn.Sequential(nn.Linear(num_inputs, CHOOSER), nn.GELU(), last)


@dataclass(frozen=True)
class Choice:
    """What the weights decide of the choice for every dataset, in float64.

    ``places`` are the latents of the anchors, and ``anchors`` holds these and their squares; ``rows`` are those of the
    entries below the diagonal of a triangular factor. The layers read logarithms as they are, and tanh makes of what
    comes out shifts in units of `LARGEST_SHIFT`, slants, and widths: ``is_width`` tells which, and a tanh of half of a
    number is a sigmoid; ``least`` is `LEAST_SQUARE`.
    """

    places: Float[Tensor, "anchors latents"]
    anchors: Float[Tensor, "anchors both"]
    temperatures: Float[Tensor, "temperatures 1"]
    first: Float[Tensor, "hidden numbers"]
    first_bias: Float[Tensor, " hidden"]
    last: Float[Tensor, "chosen hidden"]
    last_bias: Float[Tensor, " chosen"]
    is_width: Float[Tensor, " chosen"]
    rows: Int64[Tensor, " below"]
    least: Float[Tensor, ""]

    def __call__(
        self, evidence: Evidence, statistics: Statistics
    ) -> tuple[Float[Tensor, "batch latents"], Float[Tensor, "batch entries"]]:
        """The middle of the nodes, in units of `FARTHEST`, and twice the entries of the factor, its diagonal first."""
        numbers, middle = self.summary(evidence, statistics)
        latents = middle.shape[1]
        chosen = linear(gelu(linear(numbers, self.first, self.first_bias)), self.last, self.last_bias)
        narrower = -0.25 * math.log1p(statistics.num_points / 3)  # as posteriors are
        chosen = torch.add(chosen, self.is_width, alpha=narrower).tanh()
        shift, width, slant = chosen.split_with_sizes([latents, latents, self.rows.shape[0]], dim=1)
        width = width + 1
        entries = torch.cat([width, slant * width.index_select(1, self.rows)], dim=1)
        return (torch.add(middle, shift, alpha=LARGEST_SHIFT) / FARTHEST).tanh(), entries

    def summary(
        self, evidence: Evidence, statistics: Statistics
    ) -> tuple[Float[Tensor, "batch numbers"], Float[Tensor, "batch latents"]]:
        """What the nodes are chosen by, and the weighted mean of the anchors that the choice starts from.

        Softmax weights are the same for all contexts that one anchor explains far better than the others, however
        badly; the logarithms of how far the others are behind tell such contexts apart.
        """
        num_points = max(statistics.num_points, 1)
        shares = (self.temperatures * evidence.unsqueeze(1)).softmax(-1)  # (batch, temperatures, anchors)
        mean, squares = (shares @ self.anchors).chunk(2, dim=-1)
        variance = torch.addcmul(squares, mean, mean, value=-1).clamp_min(1e-6)  # of a difference that rounds
        best, first = evidence.max(1, keepdim=True)
        spread = torch.add(self.least, statistics.sum_of_squares, alpha=1 / num_points).log()
        size = torch.full_like(spread, math.log1p(statistics.num_points))
        each = torch.cat([shares, mean, variance.sqrt()], dim=-1).flatten(1)
        nearest = self.places.index_select(0, first.squeeze(1))
        whole = [each, (best - evidence).log1p(), nearest, torch.asinh(best / num_points), spread, size]
        return torch.cat(whole, dim=1), mean.select(1, TEMPERATURES.index(FIRST_TEMPERATURE))


def choice_of(
    chooser: nn.Sequential, anchors: Float[Tensor, "anchors latents"], rows: Int64[Tensor, " below"]
) -> Choice:
    """The choice by the weights of a chooser, with the factors of what goes into it and comes out of it."""
    (count, latents), layers = anchors.shape, (chooser[0], chooser[2])
    first, first_bias, last, last_bias = (weight.double() for layer in layers for weight in layer.parameters())
    read = anchors.new_ones(first.shape[1])
    read[-(count + latents + 3) : -(latents + 3)] = read[-3:] = 1 / TOLD_LESS
    made = anchors.new_ones(len(last))
    made[:latents], made[latents : 2 * latents] = 1 / LARGEST_SHIFT, -0.5
    return Choice(
        anchors,
        torch.cat([anchors, anchors.square()], dim=1),
        anchors.new_tensor(TEMPERATURES)[:, None],
        first * read,
        first_bias,
        made[:, None] * last,
        made * last_bias,
        (made < 0).to(made),
        rows,
        anchors.new_tensor(LEAST_SQUARE),
    )


def moved(middle: Float[Tensor, "batch latents"], offsets: Latents) -> Latents:
    """Nodes around a middle, which is in units of `FARTHEST`."""
    return torch.add(offsets, middle.unsqueeze(1), alpha=FARTHEST)
