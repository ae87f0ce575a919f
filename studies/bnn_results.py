"""The rows of `bnn_time_vs_nll` paired by dataset, as tables and as a figure."""

from collections.abc import Callable, Sequence
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
"""Nats within which a baseline counts as equal to the PFN."""
IN_PAPER = {"PFN": "*", "SVI": "s", "NUTS": "^"}
"""The paper's curves and their marks."""


@dataclass(frozen=True)
class Answers:
    """The scores of a method with one budget, by the number of the dataset."""

    budget: int
    nll: dict[int, float]
    accuracy: dict[int, float]
    kl: dict[int, float]
    seconds: float
    """Seconds per dataset."""
    times: dict[int, tuple[float, float]]
    """The seconds in units of the PFN's, in batches and alone; empty where there is no PFN."""

    @classmethod
    def of(cls, rows: Sequence[Row], pfn: Row | None) -> "Answers":
        """All rows of one method and budget as one."""
        nll, accuracy, kl = (
            {row["first"] + i: value for row in rows for i, value in enumerate(row[name])}
            for name in ("nll", "accuracy", "kl")
        )
        seconds = sum(row["seconds"] * row["count"] for row in rows) / len(nll)
        times = {row["first"] + i: pfn_times(row, pfn) for row in rows if pfn for i in range(row["count"])}
        return cls(rows[0]["budget"], nll, accuracy, kl, seconds, times)

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
        return mean([self.kl[i] - other.kl[i] for i in self.shared(other)])

    def shared(self, other: "Answers") -> list[int]:
        """The datasets that both have seen."""
        return sorted(self.kl.keys() & other.kl.keys())

    def mean_times(self, some: Sequence[int]) -> list[float]:
        """The mean time over some datasets, in units of the PFN's seconds in batches and alone."""
        return [fmean(each) for each in zip(*(self.times[i] for i in some), strict=True)]


Curve = list[Answers]
"""The results of a method, by budget."""


def pfn_times(row: Row, pfn: Row) -> tuple[float, float]:
    """The seconds of a row in units of those that the PFN took beside it, or, if that was another PFN, took at all."""
    beside = row.get("beside") or {}
    unit = beside if beside.get("version") == pfn["version"] else pfn
    return row["seconds"] / unit["seconds"], row["seconds"] / unit["seconds_alone"]


def mean(values: Sequence[float]) -> Estimate:
    """The mean over datasets."""
    return Estimate.over(torch.tensor(values, dtype=torch.float64))


def results(rows: Sequence[Row]) -> dict[str, dict[str, Curve]]:
    """The curves of each case."""
    found: dict[str, dict[str, dict[int, list[Row]]]] = {}
    for row in rows:
        found.setdefault(row["case"], {}).setdefault(row["method"], {}).setdefault(row["budget"], []).append(row)
    pfns = {row["case"]: row for row in rows if row["method"] == PFN}
    return {
        case: {
            name: [Answers.of(budgets[budget], pfns.get(case)) for budget in sorted(budgets)]
            for name, budgets in some.items()
        }
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
            told.append(f"{case}: the PFN's accuracy by others\n{races(some)}")
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
    """Gaps of thousandths of a nat are claimed here; smaller ones get the digits that they need."""
    if estimate.half_width < 5e-5:
        return str(estimate)
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


def races(some: dict[str, Curve]) -> str:
    """When each baseline comes close to the PFN, and when it overtakes it."""
    pfn = some[PFN][0]
    columns = [
        "method",
        f"seconds to {CLOSE} nats",
        f"x PFN in batches ({pfn.seconds:.2g} s)",
        f"x PFN alone ({seconds_alone(pfn):.2g} s)",
        "overtakes it after",
        "KL above the PFN's at the largest budget",
    ]
    lines = []
    for name, curve in some.items():
        if name in (PFN, LONG_RUN):
            continue
        excesses = [each.above(pfn).mean for each in curve]
        reached, overtaken = reached_at(curve, excesses, [each.seconds for each in curve]), overtakes(curve, pfn)
        lines.append(
            [
                name,
                f"{reached:.3g}" if reached else f"never in {curve[-1].seconds:.3g}",
                *(spelled_times(curve, pfn, which) for which in range(2)),
                f"{overtaken:.3g} s" if overtaken else "never",
                four_digits(curve[-1].above(pfn)),
            ]
        )
    return table(columns, lines)


def seconds_alone(pfn: Answers) -> float:
    """The seconds of a PFN for a single dataset."""
    return pfn.seconds / pfn.mean_times(list(pfn.times))[1]


def spelled_times(curve: Curve, pfn: Answers, which: int) -> str:
    """How many times the PFN's seconds, in batches (0) or alone (1), it takes to come close to it, and the interval."""
    shared = [each.shared(pfn) for each in curve]
    costs = [each.mean_times(some)[which] for each, some in zip(curve, shared, strict=True)]
    reached = reached_at(curve, [each.above(pfn).mean for each in curve], costs)
    if reached is None:
        return f"over {costs[-1]:,.0f}"
    low, high = times_interval(curve, pfn, which)
    return f"{reached:,.0f} [{low:,.0f}, {high:,.0f}]"


def reached_at(curve: Curve, excesses: Sequence[float], costs: Sequence[float]) -> float | None:
    """The cost of coming within `CLOSE`: between two budgets, on the straight line in logarithms of both.

    It is the cost of the larger one where no budget lies between them.
    """
    before: tuple[int, float, float] | None = None
    for each, excess, cost in zip(curve, excesses, costs, strict=True):
        if excess <= CLOSE:
            if before is None or each.budget == before[0] + 1:
                return cost
            share = log(before[1] / CLOSE) / log(before[1] / max(excess, CLOSE / 100))
            return exp(log(before[2]) + share * (log(cost) - log(before[2])))
        before = each.budget, excess, cost
    return None


def times_interval(curve: Curve, pfn: Answers, which: int, draws: int = 400) -> tuple[float, float]:
    """The 95 % interval of a ratio, by drawing the datasets of each budget anew; infinite where some never come."""
    chance, found = Random(0), []
    shared = [each.shared(pfn) for each in curve]
    for _ in range(draws):
        excesses, costs = [], []
        for each, all_of_them in zip(curve, shared, strict=True):
            some = chance.choices(all_of_them, k=len(all_of_them))
            excesses.append(fmean(each.kl[i] - pfn.kl[i] for i in some))
            costs.append(each.mean_times(some)[which])
        found.append(reached_at(curve, excesses, costs) or inf)
    found.sort()
    return found[int(0.025 * draws)], found[int(0.975 * draws)]


def overtakes(curve: Curve, pfn: Answers) -> float | None:
    """Seconds of the first budget at which a method is better than the PFN, beyond the interval."""
    for each in curve:
        excess = each.above(pfn)
        if excess.mean + excess.half_width < 0:
            return each.seconds
    return None


def draw(rows: Sequence[Row]) -> Figure:
    """For each case the NLL, as in the paper, and the distance from the truth."""
    found = {case: some for case, some in results(rows).items() if any(shown(some).values())}
    names = list(dict.fromkeys(name for some in found.values() for name in some))
    looks = {name: look(index) for index, name in enumerate(names)} | {COLLAPSED: Look(), LONG_RUN: Look()}
    figure, axes = plt.subplots(len(found), 2, figsize=(12, 4.4 * len(found) + 1), layout="constrained", squeeze=False)
    for (case, some), (left, right) in zip(found.items(), axes, strict=True):
        draw_nll(left, case, some, looks)
        draw_kl(right, some, looks)
        for ax in (left, right):
            ax.set_xscale("log")
            log_nats(ax)
        finish(left, f"{case}: NLL", "seconds per dataset", "NLL (nats), 95 % interval")
        finish(right, f"{case}: distance from the truth", "seconds per dataset", "KL (nats), 95 % interval")
    legend_below(figure, axes.flatten().tolist(), columns=4)
    return figure


def shown(some: dict[str, Curve]) -> dict[str, Curve]:
    """The curves without the truth, and without points that have no interval yet."""
    return {name: [each for each in curve if len(each.kl) > 1] for name, curve in some.items() if name != LONG_RUN}


def draw_methods(
    ax: Axes, some: dict[str, Curve], looks: dict[str, Look], score: Callable[[Answers], Estimate]
) -> None:
    """All curves, and beside the PFN's point the time that it takes for one dataset alone."""
    for name, curve in shown(some).items():
        draw_bars(ax, [each.seconds for each in curve], [score(each) for each in curve], name, looks[name])
    for pfn in some.get(PFN, []):
        level = score(pfn).mean
        points = [(pfn.seconds, level), (seconds_alone(pfn), level)]
        draw_points(ax, points, "PFN, one dataset alone (open)", looks[PFN])


def draw_nll(ax: Axes, case: str, some: dict[str, Curve], looks: dict[str, Look]) -> None:
    """The paper's figure, with its own curves."""
    truth = truth_of(some)
    level = mean(list(truth.nll.values())).mean
    ax.axhline(level, color="black", linewidth=1.0, linestyle=":", label="NLL of the truth")
    draw_methods(ax, some, looks, lambda each: each.mean_nll(truth))
    if f"bnn_{case}" in PAPER_CASES:
        for name, marker in IN_PAPER.items():
            draw_points(ax, curves(f"bnn_{case}")[name], f"the paper's {name}, its machines", Look(GREY, marker))
    ax.set_ylim(0.6 * level, 10 * level)


def draw_kl(ax: Axes, some: dict[str, Curve], looks: dict[str, Look]) -> None:
    """The divergence from the reference, which the paper does not have."""
    draw_methods(ax, some, looks, Answers.mean_kl)
    ax.axhline(0.005, color=GREY, linewidth=1.2, linestyle="--", label="0.005 nats: what is claimed")
    ax.set_ylim(1e-5, 10)
