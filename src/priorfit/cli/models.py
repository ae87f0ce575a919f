"""``priorfit models``."""

from rich.table import Table

from priorfit.cli.terminal import answers
from priorfit.zoo import load, names


def models() -> None:
    """List the released models."""
    table = Table("model", "prior", "features", "context", "weights", "trained on", box=None, header_style="bold")
    for name in names():
        model = load(name)
        trained = model.card.trained_context
        table.add_row(
            name,
            str(model.card.prior.get("type", "?")),
            str(model.task.num_features),
            "?" if trained is None else f"{trained[0]} to {trained[1]}",
            f"{sum(weight.numel() for weight in model.parameters()):,}",
            f"{model.card.training.get('datasets', 0):,} datasets",
        )
    answers.print(table)
