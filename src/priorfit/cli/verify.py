"""``priorfit verify MODEL``."""

from pathlib import Path
from typing import Annotated

import typer

from priorfit.cli.arguments import ModelName, PriorPlace, prior_at

COLOURS = {"good": "green", "doubtful": "yellow", "bad": "red", "not checked": "dim"}


def verify(  # noqa: PLR0913  one argument an option
    model: ModelName,
    sizes: Annotated[list[int] | None, typer.Option("--n", help="A context size; may be given several times.")] = None,
    datasets: Annotated[int, typer.Option(help="Datasets for each context size.")] = 2000,
    seed: Annotated[int, typer.Option(help="Of the datasets.")] = 0,
    json: Annotated[Path | None, typer.Option(help="Also write the report here, as JSON.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write the report with pictures here.")] = None,
    prior: PriorPlace = None,
) -> None:
    """Is a model's posterior right? Calibration, gap to the exact answer, and what must not matter.

    The exit code is for scripts: 0 if all that could be checked is good, 1 if anything is doubtful or bad (or an error
    stopped it).
    """
    from priorfit.cli.terminal import answers, loading

    with loading():
        from priorfit.verify import verify as examine
        from priorfit.zoo import load

    own = None if prior is None else prior_at(prior)
    report = examine(load(model, own), context_sizes=sizes, num_datasets=datasets, seed=seed)
    from rich.table import Table

    table = Table("verdict", "question", "what was found", box=None, header_style="bold")
    for check in report.checks:
        table.add_row(f"[{COLOURS[check.verdict]}]{check.verdict}[/]", check.question, check.words)
    answers.print(table)
    answers.print(f"{report.name} on {report.prior}: [{COLOURS[report.verdict]}]{report.verdict}[/]", highlight=False)
    if json is not None:
        report.save_json(json)
    if html is not None:
        from priorfit.verify.page import save_page

        save_page(report, html)
    if report.verdict in {"doubtful", "bad"}:
        raise typer.Exit(1)
