"""``priorfit quickstart``: a prior, a network, the exact posterior, and how far they lie apart."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def quickstart(
    minutes: Annotated[float, typer.Option(help="Minutes of training.")] = 3.0,
    targets: Annotated[
        Literal["sampled", "expected"], typer.Option(help="Train on drawn y, or in expectation.")
    ] = "sampled",
    seed: Annotated[int, typer.Option(help="Decides data and weights.")] = 0,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("quickstart.png"),
) -> None:
    """Fit a network to a Gaussian process, compare it with the exact posterior, write a picture."""
    from priorfit.cli.terminal import answers, loading, readable_interruption, say

    say(
        f"Fitting a network to a Gaussian process (RBF, lengthscale 0.3, noise 1e-4, up to 24 points) for {minutes:g} "
        f"minutes on {targets} targets ..."
    )  # at once: the imports below take seconds
    with loading():
        from priorfit.baselines.exact import exact
        from priorfit.cli.comparison import PRIOR, contexts, gap_table
        from priorfit.plots import plot_panels  # needs an extra, which is better missed before minutes of training
        from priorfit.training import fit

    with readable_interruption():
        model = fit(PRIOR, num_points=24, minutes=minutes, seed=seed, targets=targets)
    reference = exact(PRIOR)
    answers.print(gap_table(model, reference, seed))
    plot_panels(model, contexts(seed), reference=reference, query_range=(0.0, 1.0)).savefig(picture, dpi=130)
    answers.print(f"The posterior beside the exact one: {picture}", highlight=False)
