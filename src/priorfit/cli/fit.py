"""``priorfit fit MODEL data.csv --out FOLDER``."""

from pathlib import Path
from typing import Annotated

import typer

from priorfit.cli.arguments import DataFile, ModelName, SubsampleSeed, TargetColumn, TooManyColumns, TooManyRows
from priorfit.cli.predict import noting
from priorfit.cli.terminal import answers, loading


def fit(  # noqa: PLR0913  one argument an option
    model: ModelName,
    data: DataFile,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where the fit goes.")],
    target: TargetColumn = None,
    too_many_rows: TooManyRows = "auto",
    too_many_columns: TooManyColumns = "auto",
    seed: SubsampleSeed = 0,
) -> None:
    """Condition a model on the rows of a CSV file, once; `predict FOLDER new.csv` then answers at once."""
    with loading():  # it needs an extra, too
        from priorfit.tables import Excess, read_table, save_fit
        from priorfit.zoo import load

    excess = Excess(too_many_rows, too_many_columns, seed)
    with noting():
        rows = save_fit(load(model), read_table(data), str(data), out, target, excess)
    answers.print(
        f"Fitted {model} to {rows} row{'s' if rows > 1 else ''}: {out}. Next: priorfit predict {out} new.csv",
        highlight=False,
        soft_wrap=True,
    )
