"""``priorfit predict MODEL data.csv``."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from priorfit.cli.arguments import MODEL_OR_FIT, DataFile, SubsampleSeed, TargetColumn, TooManyColumns, TooManyRows
from priorfit.cli.terminal import errors, loading
from priorfit.errors import InputError, OutsideTrainingWarning, TableWarning

if TYPE_CHECKING:
    import pandas as pd

    from priorfit.network import Model
    from priorfit.tables import Answer, Excess, Question

QUANTILES = "0.025,0.5,0.975"


def predict(  # noqa: PLR0913  one argument an option
    model: Annotated[str, MODEL_OR_FIT],
    data: DataFile,
    target: TargetColumn = None,
    quantiles: Annotated[str, typer.Option(help="Which quantiles of a real target.")] = QUANTILES,
    layout: Annotated[Literal["csv", "json"], typer.Option("--format", help="The form of the answer.")] = "csv",
    out: Annotated[Path | None, typer.Option(help="Write to this file, not to the terminal.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw the answer: a file such as answer.png or .pdf.")] = None,
    too_many_rows: TooManyRows = "auto",
    too_many_columns: TooManyColumns = "auto",
    seed: SubsampleSeed = 0,
) -> None:
    """Predict the rows of a CSV file whose target is empty; the other rows are the context."""
    with loading():  # it needs an extra, too
        from priorfit.checkpoint import write_atomically
        from priorfit.tables import Excess, answer_rows, holds_fit, read_table, table_text

    levels = quantile_levels(quantiles)
    for file in (out, plot):
        if file is not None:
            check_out(file, data)
    if plot is not None:
        check_plot(plot)
    frame, excess = read_table(data), Excess(too_many_rows, too_many_columns, seed)
    with noting():
        if holds_fit(model):
            refuse_options(target=target, plot=plot, excess=None if excess == Excess() else excess)
            question, answer = of_fit(model, frame, str(data))
        else:
            question, answer = of_model(model, frame, str(data), target, excess, plot)
    text = table_text(answer_rows(question, answer, levels), layout)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(out, text)


@contextmanager
def noting() -> Iterator[None]:
    """Warnings about a table or a model as notes, each once, when the work is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OutsideTrainingWarning)
        warnings.simplefilter("always", TableWarning)
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        note(message)


def of_fit(path: str, frame: "pd.DataFrame", name: str) -> "tuple[Question, Answer]":
    """What a fit says of the rows of a table."""
    from priorfit.tables import Fit

    found = Fit(path)
    question = found.question(frame, name)
    return question, found.answer(question)


def of_model(
    model: str, frame: "pd.DataFrame", name: str, target: str | None, excess: "Excess", plot: Path | None
) -> "tuple[Question, Answer]":
    """What a model says of the rows of a table without a target, given the others."""
    from priorfit.tables import answered, split_table
    from priorfit.zoo import load

    question, network = split_table(frame, name, target), load(model)
    if not len(question.context):
        note("no row has a target, so this is what the prior predicts.")
    answer = answered(network, question, name, excess)
    if plot is not None:
        draw_answer(network, answer, question.numbers, plot)
    return question, answer


def refuse_options(**given: object) -> None:
    """Refuse options that were decided when a model was fitted."""
    words = {
        "target": "the target",
        "plot": "a picture, which shows the rows that the model was fitted to,",
        "excess": "what is done with too many rows or columns",
    }
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{words[name]} belongs to the model and its rows, and a fit has only its answers. Leave it "
                "out, or use priorfit predict MODEL with all rows in one file."
            )


def check_plot(file: Path) -> None:
    """Refuse, before any work, a picture that cannot be drawn: its extra is missing, or its format is unknown."""
    from priorfit.plots.canvas import picture_format

    picture_format(file)


def draw_answer(model: "Model", answer: "Answer", numbers: Sequence[int], file: Path) -> None:
    """Draw the answer to a file."""
    from priorfit.plots import plot_answer
    from priorfit.plots.canvas import save_picture, unkept_axis

    asked = (answer.context_x, answer.context_y, answer.query_x)
    ax = plot_answer(answer.predictor or model, *asked, labels=numbers, ax=unkept_axis(7.2, 4.2))
    save_picture(ax, file)


def note(message: str) -> None:
    """Write one line to standard error."""
    errors.print(f"[yellow]note:[/] {escape(message)}", highlight=False, soft_wrap=True)


def quantile_levels(text: str) -> tuple[float, ...]:
    """The levels in a text such as ``0.05,0.5,0.95``.

    >>> quantile_levels("0.05, 0.5")
    (0.05, 0.5)
    """
    from priorfit.tables import checked_levels, is_number

    cells = [cell.strip() for cell in text.split(",")]
    for cell in cells:
        if not is_number(cell):
            raise InputError(f"expected quantiles as numbers divided by commas, such as 0.05,0.5,0.95; got {text!r}.")
    return checked_levels([float(cell) for cell in cells])


def check_out(out: Path, table: Path) -> None:
    """Refuse, before any work, a path to which no answer can or should be written."""
    if not out.parent.is_dir():
        raise InputError(f"cannot write {out}: there is no folder {out.parent}. Make it, or choose another place.")
    if out.exists() and not out.is_file():
        raise InputError(f"cannot write {out}: it is a folder or a device; expected the name of a file.")
    if out.resolve() == table.resolve():
        raise InputError(f"{out} is the table itself, which the answer would replace. Choose another file.")
