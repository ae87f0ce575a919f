"""``priorfit models``."""

from rich.table import Column, Table

from priorfit.cli.terminal import answers
from priorfit.zoo import load, names


def models() -> None:
    """List the released models."""
    headers = ("prior", "columns", "context", "weights", "datasets")
    table = Table(Column("model", no_wrap=True), *headers, box=None, header_style="bold")  # no name is cut
    for name in names():
        model = load(name)
        trained = model.card.trained_context
        table.add_row(
            name,
            str(model.card.prior.get("type", "?")),
            model.problem.takes.removesuffix("s").removesuffix(" column"),
            "?" if trained is None else f"{trained[0]} to {trained[1]}",
            f"{sum(weight.numel() for weight in model.parameters()):,}",
            f"{model.card.trained_in_all('datasets'):,}",
        )
    answers.print(table)
