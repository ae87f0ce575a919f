"""``priorfit check my_priors.py:name``."""

from typing import Annotated

import typer

from priorfit.cli.arguments import prior_at


def check(
    prior: Annotated[str, typer.Argument(help="A prior of your own: FILE.py:NAME.", metavar="FILE.py:NAME")],
    seed: Annotated[int, typer.Option(help="Of the draws.")] = 0,
) -> None:
    """Look for the usual faults of a prior of your own: FILE.py:NAME."""
    from priorfit.cli.terminal import answers, loading

    with loading():
        from priorfit.priors.checks import check_prior

    answers.print(str(check_prior(prior_at(prior), seed=seed)), highlight=False, soft_wrap=True)
