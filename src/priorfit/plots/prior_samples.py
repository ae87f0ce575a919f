"""Functions drawn from a prior."""

from itertools import cycle

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.plots.canvas import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION, axis_or_new, tidy
from priorfit.priors import Prior
from priorfit.priors.class_conditional import ClassConditional
from priorfit.seeding import seeded

with needs_extra("plots"):
    from matplotlib.axes import Axes

COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, BLACK)
LINES = ("-", (0, (5, 1.5)), (0, (1.5, 1.5)), (0, (6, 1.5, 1.5, 1.5)))


def plot_prior(
    prior: Prior, *, num_functions: int = 5, num_points: int = 200, seed: int = 0, ax: Axes | None = None
) -> Axes:
    """Draw some functions of a prior, noise included, along its first feature.

    The other features of a function, if there are any, keep one value each, drawn by the prior's inputs. Labels are
    drawn as marks, each function on its own level.

    Args:
        prior: Any prior over functions.
        num_functions: How many functions are drawn.
        num_points: Points of each function.
        seed: The seed of the draws.
        ax: Where to draw it; a new figure if not given.

    >>> import priorfit as pf
    >>> ax = plot_prior(pf.GaussianProcess(num_features=1, lengthscale=0.3), num_functions=3)
    >>> len(ax.get_lines()), ax.get_xlabel()
    (3, 'x')
    """
    if isinstance(prior, ClassConditional):
        raise InputError(f"{type(prior).__name__} draws inputs for given labels, so there are no functions to draw.")
    if num_functions < 1 or num_points < 2:
        raise InputError(f"num_functions must be at least 1 and num_points 2; got {num_functions} and {num_points}.")
    with seeded(seed), torch.no_grad():
        x = points_along_first(prior, num_functions, num_points)
        y = prior.targets(x).cpu()
    ax = axis_or_new(ax)
    for number, (function, colour, line) in enumerate(zip(y, cycle(COLOURS), cycle(LINES), strict=False)):
        if isinstance(prior.outcome, Classes):
            height = function + 0.5 * ((number + 0.5) / num_functions - 0.5)
            ax.plot(x[0, :, 0], height, linestyle="none", marker="|", markersize=7, color=colour)
        else:
            ax.plot(x[0, :, 0], function, linestyle=line, linewidth=1.6, color=colour)
    ax.set(xlabel="x" if prior.num_features == 1 else "first feature (the others fixed)")
    if isinstance(prior.outcome, Classes):
        ax.set(ylabel="class", yticks=range(prior.outcome.count))
    else:
        ax.set(ylabel="y")
    ax.margins(x=0.02)
    tidy(ax)
    return ax


def points_along_first(prior: Prior, num_functions: int, num_points: int) -> Float[Tensor, "functions points features"]:
    """Points on a line along the first feature, over its range or, where there is none, over what is usually drawn."""
    drawn = prior.inputs.sample(num_functions, 256, prior.num_features)
    low, high = prior.inputs.range or drawn[..., 0].quantile(drawn.new_tensor([0.01, 0.99])).tolist()
    x = drawn[:, :1].expand(-1, num_points, -1).clone()  # (functions, points, features)
    x[..., 0] = torch.linspace(low, high, num_points)
    return x
