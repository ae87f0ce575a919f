"""The best point of an acquisition function by rounds of sampling, for models that answer many points in one pass."""

import warnings

import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine

from priorfit.errors import ShapeError
from priorfit.extras import needs_extra
from priorfit.integrations.botorch_units import check_order

with needs_extra("botorch"), warnings.catch_warnings():
    warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)  # of linear_operator
    from botorch.acquisition import AcquisitionFunction

FIRST, KEPT, AROUND = 512, 4, 64
"""Points of the first round, those that are kept after each round, and new points around each of them."""

RADII = (0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
"""Standard deviations of the new points of each further round, as shares of the box."""


@torch.no_grad()
def best_point(
    acquisition: AcquisitionFunction, bounds: Float[Tensor, "..."], seed: int = 0
) -> tuple[Float[Tensor, "1 columns"], Float[Tensor, ""]]:
    """The point of a box with the largest acquisition, and its value, without gradients.

    Sobol points come first; each round then looks around the best ones, at Normals that move about half of the columns,
    with a smaller and smaller radius. It takes eight calls of the acquisition, each of some hundred points, where
    `optimize_acqf` takes some dozens with gradients. For one point at a time (q = 1).

    >>> from botorch.acquisition import LogExpectedImprovement
    >>> from priorfit.integrations.botorch import PFNModel
    >>> x = torch.tensor([[0.0], [0.4], [1.0]]).double()
    >>> model = PFNModel("gp-rbf-1d", x, -(x - 0.6).square())
    >>> bounds = torch.tensor([[0.0], [1.0]]).double()
    >>> best_point(LogExpectedImprovement(model, best_f=-0.04), bounds)[0].shape
    torch.Size([1, 1])
    """
    if bounds.ndim != 2 or len(bounds) != 2:
        raise ShapeError(f"bounds must have shape (2, columns); got {tuple(bounds.shape)}.")
    check_order(bounds)
    lower, upper = bounds
    columns, generator = len(lower), torch.Generator().manual_seed(seed)
    share = SobolEngine(columns, scramble=True, seed=seed).draw(FIRST, dtype=bounds.dtype).to(bounds.device)
    value = acquisition((lower + (upper - lower) * share)[:, None])
    for radius in RADII:
        best = value.topk(KEPT)
        centres = share[best.indices]
        moves = radius * torch.randn(KEPT, AROUND, columns, dtype=bounds.dtype, generator=generator)
        moves = moves * (torch.rand(KEPT, AROUND, columns, generator=generator) < max(0.5, 1 / columns))
        around = (centres[:, None] + moves.to(bounds.device)).clamp(0, 1).flatten(0, 1)
        share = torch.cat([centres, around])
        value = torch.cat([best.values, acquisition((lower + (upper - lower) * around)[:, None])])
    place = value.argmax()
    return (lower + (upper - lower) * share[place])[None], value[place]
