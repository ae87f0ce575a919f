"""Tables and figure of `latents`."""

from collections.abc import Sequence

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from study import Row, table

NPE = "NPE"
REFINED = ", refined"
SAME, MORE, LAW = "network", "more simulations", "law"
"""A network with NPE's simulations and seconds, one with its seconds and as many simulations as it can use, and what
`fit` makes of a program that returns a law, in at most the same seconds: it reads the likelihood, and NPE does not."""
METHODS = (NPE, SAME, SAME + REFINED, MORE, MORE + REFINED, LAW, LAW + REFINED)
RELIABLE = 0.7
"""The largest k-hat of weights that are to be believed."""


def chosen(rows: Sequence[Row], task: str, simulations: int, method: str) -> list[Row]:
    """The rows of a method, the latest settings alone, by observation."""
    wanted = (task, simulations, method)
    found = [row for row in rows if (row["task"], row["simulations"], row["method"]) == wanted]
    return [row for row in found if row["settings"] == found[-1]["settings"]]


def scores(rows: Sequence[Row]) -> dict[int, float]:
    """C2ST of each observation."""
    return {row["observation"]: row["c2st"] for row in rows}


def tell(rows: Sequence[Row]) -> str:
    """Mean C2ST over observations with its spread, seconds, and how far refined draws are to be believed."""
    lines, told = [], []
    for task, simulations in dict.fromkeys((row["task"], row["simulations"]) for row in rows):
        theirs = scores(chosen(rows, task, simulations, NPE))
        for method in METHODS:
            own = chosen(rows, task, simulations, method)
            if own:
                lines.append([task, f"{simulations:,}", method, *cells(own), compared(scores(own), theirs)])
            told += [[task, f"{simulations:,}", method, *reliability(own)] for _ in own[:1] if "k_hat" in own[0]]
    head = [
        "task",
        "simulations",
        "method",
        "C2ST",
        "range",
        "observations",
        "used",
        "seconds",
        "s to draw",
        "less NPE's",
    ]
    text = "mean C2ST over observations (0.5 is the best), processor seconds of simulating and training\n\n"
    text += table(head, lines)
    if told:
        head = ["task", "simulations", "method", "largest k-hat", "k-hat < 0.7", "their C2ST", "smallest ESS"]
        text += "\n\n" + table(head, told)
    return text


def cells(rows: Sequence[Row]) -> list[str]:
    """Mean and range of C2ST, observations, simulations in use, seconds in all and to draw for one observation."""
    found = np.array(list(scores(rows).values()))
    return [
        f"{found.mean():.3f}",
        f"{found.min():.3f} to {found.max():.3f}",
        str(len(found)),
        f"{rows[0]['simulations_used']:,}",
        f"{rows[0]['seconds']:.0f}",
        f"{rows[0]['drawing_seconds']:.1f}",
    ]


def compared(ours: dict[int, float], theirs: dict[int, float]) -> str:
    """The mean difference over the observations that both have, and NPE's standard deviation over them."""
    both = sorted(ours.keys() & theirs.keys())
    if not both or ours == theirs:
        return "-"
    difference = np.mean([ours[each] - theirs[each] for each in both])
    spread = f" (spread {np.std([theirs[each] for each in both], ddof=1):.3f})" if len(both) > 1 else ""
    return f"{difference:+.3f}{spread}"


def reliability(rows: Sequence[Row]) -> list[str]:
    """The largest k-hat, how many are reliable and their mean C2ST, and the smallest effective sample size."""
    reliable = [row["c2st"] for row in rows if row["k_hat"] < RELIABLE]
    return [
        f"{max(row['k_hat'] for row in rows):.2f}",
        f"{len(reliable)} of {len(rows)}",
        f"{np.mean(reliable):.3f}" if reliable else "-",
        f"{min(row['effective_sample_size'] for row in rows):,.0f}",
    ]


def draw(rows: Sequence[Row]) -> Figure:
    """C2ST against seconds, a panel for each task: the mean of each method, and every observation."""
    names = list(dict.fromkeys(row["task"] for row in rows))
    asked = [method for method in METHODS if any(row["method"] == method for row in rows)]
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(4 * columns, 3 * lines), squeeze=False, layout="constrained")
    for axis, task in zip(axes.flat, names, strict=False):
        for colour, method in enumerate(asked):
            sizes = sorted({row["simulations"] for row in rows if row["task"] == task and row["method"] == method})
            parts = [chosen(rows, task, size, method) for size in sizes]
            seconds = [part[0]["seconds"] for part in parts]
            means = [np.mean(list(scores(part).values())) for part in parts]
            axis.plot(seconds, means, marker="o", color=f"C{colour}", label=method)
            for second, part in zip(seconds, parts, strict=True):
                axis.scatter([second] * len(part), list(scores(part).values()), s=6, color=f"C{colour}", alpha=0.5)
        axis.axhline(0.5, color="grey", linewidth=1)
        axis.set(ylim=(0.48, 1.01), title=task.replace("_", " "))
        axis.set_xlim(0, 1.05 * axis.get_xlim()[1])
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside right upper", fontsize=8)
    figure.supxlabel("processor seconds of simulating and training")
    figure.supylabel("C2ST")
    return figure
