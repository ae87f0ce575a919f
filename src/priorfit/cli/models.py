"""``priorfit models``."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from priorfit.network import Problem


def models() -> None:
    """List the released models."""
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Column, Table

    from priorfit.cli.terminal import answers, loading

    with loading():
        from priorfit.zoo import load, names

    words = (Column(name, no_wrap=True) for name in ("model", "prior"))
    numbers = (Column(name, no_wrap=True, justify="right") for name in ("columns", "context", "weights", "datasets"))
    table = Table(*words, *numbers, box=None, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    for name in names():
        model = load(name)
        trained = model.card.trained_context
        table.add_row(
            name,
            str(model.card.prior.get("type", "?")),
            columns(model.problem),
            "?" if trained is None else f"{trained[0]}-{trained[1]}",
            short(sum(weight.numel() for weight in model.parameters())),
            short(int(model.card.trained_in_all("datasets"))),
        )
    needed = Measurement.get(answers, answers.options.update(max_width=1_000), table).maximum
    Console(file=answers.file, width=max(needed, answers.width)).print(table)  # nothing is cut, ever


def columns(problem: "Problem") -> str:
    """How many columns a model takes: 5, or 1-10."""
    fewest, most = problem.fewest_features, problem.num_features
    return str(most) if fewest == most else f"{fewest}-{most}"


def short(count: int) -> str:
    """A count in at most five characters, with three digits.

    >>> short(1_200), short(134_992), short(1_494_054)
    ('1,200', '135k', '1.49M')
    """
    if count < 10_000:
        return f"{count:,}"
    return f"{count / 1e3:.0f}k" if count < 999_500 else f"{count / 1e6:.3g}M"
