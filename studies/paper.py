"""What the paper says: its settings, and the numbers that can be read off its plots (``paper.json``)."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from priorfit.priors import GaussianProcess, HyperGaussianProcess

GP_5D = GaussianProcess(num_features=5, kernel="rbf", lengthscale=0.6, outputscale=1.0, noise=1e-4)
"""The prior of figures 4a and 9."""
GP_SHORT = GaussianProcess(num_features=1, kernel="rbf", lengthscale=0.1, outputscale=1.0, noise=1e-4)
"""The prior of figures 7 and 8."""
HYPER_GP = HyperGaussianProcess(num_features=1)
"""The prior of figure 4b."""
SIZES_5D = tuple(range(1, 192, 10))
"""The context sizes of its curves for five features."""

Curve = list[tuple[int, float]]


@cache
def numbers() -> dict[str, Any]:
    """The contents of ``paper.json``."""
    return json.loads((Path(__file__).parent / "paper.json").read_text(encoding="utf-8"))


def curves(figure: str) -> dict[str, Curve]:
    """The curves of a figure by name, as (n, nats)."""
    return {
        name: [(n, nats) for n, nats in points]
        for name, points in numbers()[figure].items()
        if isinstance(points, list)
    }


def at(figure: str, name: str, size: int) -> str:
    """One number of a curve as text; a dash where the paper has none."""
    found = dict(curves(figure)[name]).get(size)
    return "–" if found is None else f"{found:.3f}"
