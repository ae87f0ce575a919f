"""The rows of `gp_hyper_priors` paired by dataset, as tables and as a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from paper import at, curves
from pictures import GREY, Look, draw_bars, draw_curve, draw_points, finish, legend_below, look, methods
from study import Row, table

from priorfit.metrics import Estimate

ORACLE, PFN = "oracle", "PFN"
IN_PAPER = {"PFN": "PFN (4M datasets)", "MLE-II": "MLE-II", "NUTS 32+32": "NUTS 32+32", "NUTS 256+256": "NUTS 256+256"}
"""Our names without their backend, and the paper's."""


@dataclass(frozen=True)
class Answers:
    """The scores of a method at one n, by the number of the dataset."""

    nll: dict[int, float]
    expected_nll: dict[int, float]
    seconds: float
    """Seconds per dataset."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Answers":
        """All rows of one method at one n as one."""
        nll, expected = (
            {row["first"] + i: value for row in rows for i, value in enumerate(row[name])}
            for name in ("nll", "expected_nll")
        )
        return cls(nll, expected, sum(row["seconds"] * row["count"] for row in rows) / len(nll))

    def mean_nll(self) -> Estimate:
        """The NLL of the drawn queries."""
        return Estimate.over(torch.tensor(list(self.nll.values())))

    def above(self, other: "Answers") -> Estimate:
        """How much worse than another method, on the datasets that both have seen, in expectation over y."""
        both = self.expected_nll.keys() & other.expected_nll.keys()
        return Estimate.over(torch.tensor([self.expected_nll[i] - other.expected_nll[i] for i in sorted(both)]))


Results = dict[str, dict[int, Answers]]


def results(rows: Sequence[Row]) -> Results:
    """The answers of each method at each n."""
    return {
        method: {
            n: Answers.of([row for row in rows if (row["method"], row["n"]) == (method, n)])
            for n in sorted({row["n"] for row in rows if row["method"] == method})
        }
        for method in methods(rows)
    }


def tell(rows: Sequence[Row], beside_paper: bool = True) -> str:
    """Four tables: NLL, with the paper's where it has some, gap to the oracle, distance from the PFN, seconds."""
    found = results(rows)
    sizes = list(found[ORACLE])
    oracle, pfn = found[ORACLE], found.get(PFN)
    header = [f"n = {n}" for n in sizes]
    others = {name: answers for name, answers in found.items() if name != ORACLE}

    def lines(names: Sequence[str], cell) -> list[list[str]]:
        return [[name, str(len(found[name][sizes[0]].nll)), *(cell(name, n) for n in sizes)] for name in names]

    tables = {
        "NLL of the drawn query" + " (the paper's in brackets)" * beside_paper: lines(
            list(found), lambda name, n: f"{found[name][n].mean_nll()} {of_paper(name, n) * beside_paper}".strip()
        ),
        "gap to the oracle": lines(list(others), lambda name, n: str(found[name][n].above(oracle[n]))),
        "seconds per dataset": lines(list(found), lambda name, n: f"{found[name][n].seconds:.3g}"),
    }
    if pfn is not None:
        names = [name for name in others if name != PFN]
        tables["above the PFN, paired"] = lines(names, lambda name, n: str(found[name][n].above(pfn[n])))
        alone = [f"{seconds_alone(rows, n):.3g}" for n in sizes]
        tables["seconds per dataset"] += [[f"{PFN}, one at a time", "", *alone]]
    return "\n\n".join(f"{title}\n{table(['method', 'datasets', *header], some)}" for title, some in tables.items())


def of_paper(name: str, size: int) -> str:
    """The paper's NLL in brackets, where it has one."""
    theirs = IN_PAPER.get(name.split(",")[0])
    return "" if theirs is None else f"({at('hyper_priors', theirs, size)})"


def seconds_alone(rows: Sequence[Row], size: int) -> float:
    """The seconds of a PFN that is asked about one dataset at a time."""
    return fmean(row["seconds_alone"] for row in rows if row["method"] == PFN and row["n"] == size)


def draw(rows: Sequence[Row], beside_paper: bool = True) -> Figure:
    """NLL, with the paper's where it has some, gap, seconds."""
    found = results(rows)
    sizes = list(found[ORACLE])
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(16, 5.4), layout="constrained")
    others = [name for name in found if name != ORACLE]
    looks = {ORACLE: Look()} | {name: look(index) for index, name in enumerate(others)}
    for name, style in looks.items():
        answers = found[name]
        label = f"{name} ({len(answers[sizes[0]].nll):,} datasets)"
        draw_curve(left, sizes, [answers[n].mean_nll() for n in sizes], label, style)
        right.plot(sizes, [answers[n].seconds for n in sizes], color=style.colour, marker=style.marker)
    for index, name in enumerate(others):
        beside = [n + 0.5 * (index - len(others) / 2) for n in sizes]  # so that no bar hides another
        draw_bars(middle, beside, [found[name][n].above(found[ORACLE][n]) for n in sizes], name, looks[name])
    if PFN in found:
        alone = [seconds_alone(rows, n) for n in sizes]
        right.plot(sizes, alone, color=looks[PFN].colour, linestyle="--", label="PFN, one dataset at a time")
    for name, marker in ((PFN, "s"), ("NUTS 256+256", "^")) if beside_paper else ():
        draw_points(left, curves("hyper_priors")[IN_PAPER[name]], f"the paper's {name}", Look(GREY, marker))
    left.set_ylim(top=1 + max(found[name][sizes[0]].mean_nll().mean for name in found if name != "MLE-II"))
    middle.set_yscale("symlog", linthresh=0.1)
    middle.yaxis.set_major_locator(FixedLocator([-0.05, 0, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 50]))
    middle.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    middle.axhline(0.0, color="black", linewidth=1.0, linestyle=":")
    middle.set_xticks(sizes)
    right.set_yscale("log")
    finish(left, "(a) NLL", "context points n", "NLL (nats), 95 % interval")
    finish(middle, "(b) gap to the oracle, paired", "context points n", "gap (nats), 95 % interval")
    finish(right, "(c) cost; the PFN in batches of 100", "context points n", "seconds per dataset")
    legend_below(figure, (left, right), columns=4)
    return figure
