"""Functions drawn point by point, each y given those before; the examples are such draws."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.demo.state import Points
from priorfit.demo.subject import Subject
from priorfit.errors import InputError
from priorfit.predictor import Predictor
from priorfit.seeding import derived_seed

NUM_PLACES = 40
GOLDEN = 0.6180339887

EXAMPLES: dict[str, tuple[float, ...]] = {
    "no points": (),
    "three points": (0.3, 0.45, 0.75),
    "a gap": (0.03, 0.1, 0.17, 0.25, 0.75, 0.83, 0.9, 0.97),
    "one side": (0.04, 0.1, 0.16, 0.22, 0.28, 0.34),
    "twenty points": tuple((0.5 + GOLDEN * i) % 1 for i in range(20)),
}
"""Inputs of the points of each example, as shares of the window."""
EXAMPLE_SEED = 9


@dataclass(frozen=True)
class Functions:
    """Draws of y at shared inputs, from left to right."""

    x: Float[np.ndarray, " places"]
    y: Float[np.ndarray, "functions places"]


def drawn_in_turn(
    predictor: Predictor,
    context: tuple[Float[Tensor, "context 1"], Float[Tensor, " context"]],
    query_x: Float[Tensor, " places"],
    uniforms: Float[Tensor, "functions places"],
) -> Iterator[Float[Tensor, " functions"]]:
    """The y at each input given the context and the y drawn before, by the inverse cdf of a uniform number.

    So a draw takes nothing from the global generator, and moves smoothly with the context.
    """
    count = len(uniforms)
    x, y = (part.expand(count, *part.shape) for part in context)  # (functions, context, 1), (functions, context)
    for place, uniform in zip(query_x, uniforms.T, strict=True):
        here = place.expand(count, 1, 1)
        with torch.no_grad():
            drawn = predictor.condition(x, y).predict(here).icdf(uniform[:, None])  # (functions, 1)
        yield drawn[:, 0]
        x, y = torch.cat([x, here], dim=1), torch.cat([y, drawn], dim=1)


def draw_functions(subject: Subject, points: Points, count: int, seed: int = 0) -> Iterator[Functions]:
    """Functions from the network's posterior on an even grid, from coarse to fine: at two inputs, at three, ...

    Each y that was drawn joins the context, so there are at most as many inputs as training had points.
    """
    trained = subject.trained_context
    places = NUM_PLACES if trained is None else min(NUM_PLACES, trained[1] + 1 - len(points))
    if places < 2:
        raise InputError(
            f"{subject.name} was trained on at most {trained[1] if trained else 0} points, and a function drawn point "
            f"by point needs some of them; there are {len(points)} already. Delete a few."
        )
    x, order = torch.linspace(*subject.x_range, places), coarse_to_fine(places)
    drawn = list[Tensor]()
    for y in drawn_in_turn(subject.model, points.tensors, x[order], uniforms(count, places, seed)):
        drawn.append(y)
        if len(drawn) > 1:
            done = order[: len(drawn)]
            from_left = done.argsort()
            yield Functions(x[done][from_left].numpy(), torch.stack(drawn, dim=1)[:, from_left].numpy())


def uniforms(count: int, places: int, seed: int) -> Float[Tensor, "count places"]:
    """Uniform numbers that neither touch nor depend on the global generator; never 0 or 1."""
    generator = torch.Generator().manual_seed(derived_seed(seed))
    return torch.rand(count, places, generator=generator).clamp(1e-6, 1 - 1e-6)


def coarse_to_fine(count: int) -> Tensor:
    """An order of 0 ... count - 1 in which every beginning is spread over the whole.

    >>> coarse_to_fine(5).tolist()
    [0, 4, 2, 1, 3]
    """
    bits = count.bit_length() + 1  # so many that the shares below lie closer together than the inputs
    shares = (int(f"{i:0{bits}b}"[::-1], 2) / 2**bits for i in range(2**bits))  # 0, 1/2, 1/4, 3/4, 1/8, ...
    return torch.tensor(list(dict.fromkeys([0, count - 1, *(round(share * (count - 1)) for share in shares)])))


def example(subject: Subject, name: str) -> Points:
    """The points of an example, drawn from the model itself, so that they are likely under its prior."""
    if name not in EXAMPLES:
        raise InputError(f"no example {name!r}; there are: {', '.join(EXAMPLES)}.")
    trained = subject.trained_context
    shares = EXAMPLES[name] if trained is None else EXAMPLES[name][: trained[1]]
    left, right = subject.x_range
    x = torch.tensor(shares, dtype=torch.float32) * (right - left) + left
    seed = EXAMPLE_SEED + list(EXAMPLES).index(name)
    y = drawn_in_turn(subject.model, Points().tensors, x, uniforms(1, len(x), seed))
    return Points.of(x.tolist(), [each.item() for each in y]).inside(subject)
