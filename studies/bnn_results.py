"""The rows of `bnn_time_vs_nll` paired by dataset, as tables and as a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, hypot, inf, log
from random import Random
from statistics import fmean

import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from paper import curves
from pictures import GREY, Look, draw_bars, draw_points, finish, legend_below, log_nats, look
from study import Row, table

from priorfit.metrics import Estimate

PFN, COLLAPSED, LONG_RUN = "PFN", "CollapsedBNN", "long run of NUTS"
CLOSE = 0.01
"""Nats within which a baseline has come as far as the PFN."""
IN_PAPER = {"PFN": "*", "SVI": "s", "NUTS": "^"}
"""The paper's curves and their marks."""


@dataclass(frozen=True)
class Answers:
    """What a method answered with one budget, by the number of the dataset."""

    budget: int
    nll: dict[int, float]
    accuracy: dict[int, float]
    kl: dict[int, float]
    seconds: float
    """Per dataset."""

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Answers":
        """All rows of one method and budget as one."""
        nll, accuracy, kl = (
            {row["first"] + i: value for row in rows for i, value in enumerate(row[name])}
            for name in ("nll", "accuracy", "kl")
        )
        seconds = sum(row["seconds"] * row["count"] for row in rows) / len(nll)
        return cls(rows[0]["budget"], nll, accuracy, kl, seconds)

    def mean_nll(self, truth: "Answers") -> Estimate:
        """The NLL of the drawn labels; of fewer datasets than the truth's, its own there plus the paired difference."""
        own = mean(list(self.nll.values()))
        if len(self.nll) >= len(truth.nll):
            return own
        paired = mean([value - truth.nll[i] for i, value in self.nll.items() if i in truth.nll])
        level = mean(list(truth.nll.values()))
        return Estimate(level.mean + paired.mean, hypot(level.half_width, paired.half_width), paired.count)

    def mean_kl(self) -> Estimate:
        """The distance from the truth."""
        return mean(list(self.kl.values()))

    def above(self, other: "Answers") -> Estimate:
        """How much worse than another method on the datasets that both have seen, in expectation under the truth."""
        return mean([self.kl[i] - other.kl[i] for i in sorted(self.kl.keys() & other.kl.keys())])


Curve = list[Answers]
"""A method, by budget."""


def mean(values: Sequence[float]) -> Estimate:
    """Over datasets."""
    return Estimate.over(torch.tensor(values, dtype=torch.float64))


def results(rows: Sequence[Row]) -> dict[str, dict[str, Curve]]:
    """The curves of each case."""
    found: dict[str, dict[str, dict[int, list[Row]]]] = {}
    for row in rows:
        found.setdefault(row["case"], {}).setdefault(row["method"], {}).setdefault(row["budget"], []).append(row)
    return {
        case: {name: [Answers.of(budgets[budget]) for budget in sorted(budgets)] for name, budgets in some.items()}
        for case, some in found.items()
    }


def truth_of(some: dict[str, Curve]) -> Answers:
    """The answers that stand for the truth."""
    return (some.get(COLLAPSED) or some[LONG_RUN])[0]


def tell(rows: Sequence[Row]) -> str:
    """For each case its methods and, where there is a PFN, the times to come close to it."""
    columns = ["method", "budget", "datasets", "seconds", "NLL", "accuracy", "KL from the truth"]
    told = []
    for case, some in results(rows).items():
        truth = truth_of(some)
        lines = [line(name, each, truth) for name, curve in some.items() for each in curve]
        told.append(f"{case}: {remarks(case, rows)}\n{table(columns, lines)}")
        if PFN in some:
            told.append(f"{case}: the PFN's accuracy by others\n{races(case, some, rows)}")
    return "\n\n".join(told)


def line(name: str, each: Answers, truth: Answers) -> list[str]:
    """A method with one budget."""
    return [
        name,
        f"{each.budget:,}" if each.budget else "",
        str(len(each.nll)),
        f"{each.seconds:.3g}",
        four_digits(each.mean_nll(truth)),
        f"{fmean(each.accuracy.values()):.3f}",
        "0" if each is truth and name == LONG_RUN else four_digits(each.mean_kl()),
    ]


def four_digits(estimate: Estimate) -> str:
    """Gaps of thousandths of a nat are claimed here."""
    return f"{estimate.mean:z.4f} ± {estimate.half_width:.4f}"


def remarks(case: str, rows: Sequence[Row]) -> str:
    """The paper's numbers, or how good the truth is."""
    if f"bnn_{case}" in PAPER_CASES:
        best = {name: min(nll for _, nll in points) for name, points in curves(f"bnn_{case}").items()}
        return "the paper's best NLL: " + ", ".join(f"{name} {nll:.4f}" for name, nll in best.items())
    long = [row for row in rows if (row["case"], row["method"]) == (case, LONG_RUN)]
    agree = sum(row["r_hat"] <= 1.01 for row in long)
    return (
        f"R-hat of the truth at most 1.01 on {agree} of {len(long)} datasets, at most {max(r['r_hat'] for r in long)}"
    )


PAPER_CASES = ("bnn_small", "bnn_large")


def races(case: str, some: dict[str, Curve], rows: Sequence[Row]) -> str:
    """When each baseline comes close to the PFN, and when it overtakes it."""
    pfn = some[PFN][0]
    alone = fmean(row["seconds_alone"] for row in rows if (row["case"], row["method"]) == (case, PFN))
    columns = [
        "method",
        f"seconds to {CLOSE} nats",
        f"x PFN in batches ({pfn.seconds:.2g} s)",
        f"x PFN alone ({alone:.2g} s)",
        "overtakes it after",
        "KL above the PFN's at the largest budget",
    ]
    lines = []
    for name, curve in some.items():
        if name in (PFN, LONG_RUN):
            continue
        reached, overtaken = time_to(curve, pfn), overtakes(curve, pfn)
        low, high = time_interval(curve, pfn)
        ratios = [
            f"{reached / each:,.0f} [{low / each:,.0f}, {high / each:,.0f}]" if reached else ""
            for each in (pfn.seconds, alone)
        ]
        most = [curve[-1].seconds / each for each in (pfn.seconds, alone)]
        lines.append(
            [
                name,
                f"{reached:.3g}" if reached else f"never in {curve[-1].seconds:.3g}",
                ratios[0] or f"over {most[0]:,.0f}",
                ratios[1] or f"over {most[1]:,.0f}",
                f"{overtaken:.3g} s" if overtaken else "never",
                four_digits(curve[-1].above(pfn)),
            ]
        )
    return table(columns, lines)


def time_to(curve: Curve, pfn: Answers, excesses: Sequence[float] | None = None) -> float | None:
    """Seconds to come within `CLOSE` of the PFN: between two budgets, on the straight line in logarithms of both."""
    before: tuple[float, float] | None = None
    for each, excess in zip(curve, excesses or [each.above(pfn).mean for each in curve], strict=True):
        if excess <= CLOSE:
            if before is None:
                return each.seconds
            share = log(before[1] / CLOSE) / log(before[1] / max(excess, CLOSE / 100))
            return exp(log(before[0]) + share * (log(each.seconds) - log(before[0])))
        before = each.seconds, excess
    return None


def time_interval(curve: Curve, pfn: Answers, draws: int = 400) -> tuple[float, float]:
    """The 95 % interval of `time_to`, by drawing the datasets of each budget anew; infinite where some never come."""
    chance, times = Random(0), []
    pairs = [[each.kl[i] - pfn.kl[i] for i in sorted(each.kl.keys() & pfn.kl.keys())] for each in curve]
    for _ in range(draws):
        excesses = [fmean(chance.choices(some, k=len(some))) for some in pairs]
        times.append(time_to(curve, pfn, excesses) or inf)
    times.sort()
    return times[int(0.025 * draws)], times[int(0.975 * draws)]


def overtakes(curve: Curve, pfn: Answers) -> float | None:
    """Seconds of the first budget at which a method is better than the PFN, beyond the interval."""
    for each in curve:
        excess = each.above(pfn)
        if excess.mean + excess.half_width < 0:
            return each.seconds
    return None


def draw(rows: Sequence[Row]) -> Figure:
    """For each case the NLL, as in the paper, and the distance from the truth."""
    found = results(rows)
    names = list(dict.fromkeys(name for some in found.values() for name in some))
    looks = {name: look(index) for index, name in enumerate(names)} | {COLLAPSED: Look(), LONG_RUN: Look()}
    figure, axes = plt.subplots(2, len(found), figsize=(4.6 * len(found), 9), layout="constrained", squeeze=False)
    for (case, some), (top, bottom) in zip(found.items(), axes.T, strict=True):
        draw_nll(top, case, some, looks)
        draw_kl(bottom, some, looks)
        for ax in (top, bottom):
            ax.set_xscale("log")
            log_nats(ax)
        finish(top, f"{case}: NLL", "seconds per dataset", "NLL (nats), 95 % interval")
        finish(bottom, f"{case}: distance from the truth", "seconds per dataset", "KL (nats), 95 % interval")
    legend_below(figure, axes.flatten().tolist(), columns=4)
    return figure


def shown(some: dict[str, Curve]) -> dict[str, Curve]:
    """The curves without the truth, and without points that have no interval yet."""
    return {name: [each for each in curve if len(each.kl) > 1] for name, curve in some.items() if name != LONG_RUN}


def draw_nll(ax: Axes, case: str, some: dict[str, Curve], looks: dict[str, Look]) -> None:
    """The paper's figure, with its own curves."""
    truth = truth_of(some)
    level = mean(list(truth.nll.values())).mean
    ax.axhline(level, color="black", linewidth=1.0, linestyle=":", label="NLL of the truth")
    for name, curve in shown(some).items():
        seconds = [each.seconds for each in curve]
        draw_bars(ax, seconds, [each.mean_nll(truth) for each in curve], name, looks[name])
    if f"bnn_{case}" in PAPER_CASES:
        for name, marker in IN_PAPER.items():
            draw_points(ax, curves(f"bnn_{case}")[name], f"the paper's {name}, its machines", Look(GREY, marker))
    ax.set_ylim(0.6 * level, 10 * level)


def draw_kl(ax: Axes, some: dict[str, Curve], looks: dict[str, Look]) -> None:
    """What the paper could not show."""
    for name, curve in shown(some).items():
        draw_bars(ax, [each.seconds for each in curve], [each.mean_kl() for each in curve], name, looks[name])
    ax.axhline(0.005, color="black", linewidth=1.0, linestyle=":", label="0.005 nats")
    ax.set_ylim(1e-5, 10)
