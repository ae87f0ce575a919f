"""Small tables: what the rows say, as the paper's tables 1 and 7 and its figure 10, beside the paper's own numbers."""

from collections.abc import Sequence

import numpy as np
import paper
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from study import Row, table
from tabular_board import BINS, Board
from tabular_statistics import loss_tie_win, paired, sets_needed, signed_rank_p

TABPFN = "TabPFN v1"
OURS = {"PFN-BNN": "tabular-bnn", "PFN-GP": "tabular-gp"}
"""Our models that stand for the paper's."""
REFERENCES = ("tabular", "tabular-bnn", "tabular-binary-small")
"""Models that the others are compared with, the first that answers all sets."""
PANELS = ("tabular", "tabular-bnn", "tuned XGBoost", "tuned BNN", TABPFN, "CatBoost")
"""The panels of the figure; the paper has its PFN-BNN, XGBoost and BNN."""
FIGURE_BINS = 20

PROTOCOL = """\
What differs from the authors' protocol. They take the classes with the codes 0 and 1, interleave them in the order of
the file, cut to 400 rows and take windows of 100 rows. These overlap, and neighbours in the file are neighbours in a
window; their test counts the same rows many times (p = 1e-13 over 420 windows). Here the two most frequent classes are
taken, subsets are random (without a common row where the set is large enough), and the unit of the test is the set.
Their network saw the mean and deviation of the context and the query together; here all statistics are those of
the context alone. Their table has the ROC AUC of all windows of a set pooled; ours is the mean over subsets. The paper
told CatBoost alone which columns are categories; here all baselines know. Their searches went by accuracy (that of
CatBoost by log loss), ours by ROC AUC. Three of the 21 sets (numerai28.6, dionis, helena) are missing in the folder;
airlines, covertype, MiniBooNE and jannis are samples of the originals. Probabilities are mixed with 1e-6 of the uniform
distribution before the log loss. Tuned CatBoost and BNN have five subsets; two methods are compared on the subsets that
both have. A tie is equality of AUC to three digits."""


def tell(rows: Sequence[Row]) -> str:
    """All tables and the paragraph on the protocol."""
    board = Board(rows)
    reference = next((name for name in REFERENCES if name in board.complete), board.complete[0])
    parts = [
        f"Table 1 with the paper's methods ({len(board.sets)} sets)",
        paper_table(board),
        f"All methods ({len(board.sets)} sets; compared with {reference})",
        overview(board, reference),
        *board.incomplete(),
        "Table 7: ROC AUC, mean over subsets (the paper's in brackets)",
        by_set(board, "auc"),
        "Log loss, mean over subsets",
        by_set(board, "log_loss"),
        PROTOCOL,
    ]
    return "\n\n".join(parts)


def overview(board: Board, reference: str) -> str:
    """One line a method: rank, scores, calibration, comparison with the reference, time."""
    columns = ["method", "subsets", "mean rank", "AUC", "pooled AUC", "log loss", "ECE", "its floor"]
    columns += ["loss/tie/win", "Wilcoxon p", "sets for p < 0.01", "seconds for all", "times its time"]
    ranks = board.mean_ranks(board.complete)
    lines = []
    for name in sorted(board.complete, key=ranks.__getitem__):
        line = [name, str(board.num_subsets(name)), f"{ranks[name]:.2f}", f"{board.mean(name, 'auc'):.4f}"]
        line += [f"{board.pooled_auc(name):.4f}", f"{board.mean(name, 'log_loss'):.4f}"]
        line += [f"{board.calibration_error(name):.4f}", f"{board.calibration_floor(name):.4f}"]
        line += [*compared(board, name, reference), seconds(board.seconds(name)), ratio(board, name, reference)]
        lines.append(line)
    return table(columns, lines)


def compared(board: Board, name: str, reference: str) -> list[str]:
    """Loss/tie/win against the reference by AUC, Wilcoxon's p over sets, and how many sets p < 0.01 would take."""
    if name == reference:
        return ["–"] * 3
    mine, theirs = paired(board.scores(name, "auc"), board.scores(reference, "auc"), board.sets)
    p = signed_rank_p(mine, theirs)
    needed = sets_needed(p, len(board.sets))
    count = "enough" if p < 0.01 else "none" if needed is None else str(needed)
    return ["/".join(map(str, loss_tie_win(mine, theirs))), f"{p:.2g}", count]


def ratio(board: Board, name: str, reference: str) -> str:
    """How many times the reference's time a method takes, from the passes that time both side by side."""
    times = board.timed(name), board.timed(reference)
    common = times[0].keys() & times[1].keys()
    if not common:
        return "–"
    return f"{sum(times[0][key] for key in common) / sum(times[1][key] for key in common):.3g}"


def seconds(value: float | None) -> str:
    """Seconds as text."""
    return "–" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def paper_table(board: Board) -> str:
    """The paper's eight methods: ours beside the paper's, whose ranks are also those over the sets that are here."""
    theirs = paper.numbers()["tabular"]
    here = {name: OURS.get(name, name) for name in theirs["mean_rank"]}
    present = [ours for ours in here.values() if ours in board.complete]
    ranks, printed = board.mean_ranks(present), paper_ranks(board.sets, list(here))
    against = OURS["PFN-BNN"] if OURS["PFN-BNN"] in present else None
    columns = ["method", f"mean rank of {len(present)}", "the paper's of 8, these sets", "all 21", "loss/tie/win"]
    columns += ["the paper's", "p, sets", "the paper's p, windows", "ECE", "the paper's", "seconds", "the paper's"]
    lines = []
    for name, ours in here.items():
        done = ours in present
        versus = compared(board, ours, against) if done and against else ["–"] * 3
        wins = theirs["loss_tie_win"].get(name)
        line = [ours, f"{ranks[ours]:.2f}" if done else "–", f"{printed[name]:.2f}" if printed else "–"]
        line += [f"{theirs['mean_rank'][name]:.2f}", versus[0], "/".join(map(str, wins)) if wins else "–", versus[1]]
        line += [str(theirs["wilcoxon_p"].get(name, "–")), f"{board.calibration_error(ours):.3f}" if done else "–"]
        line += [f"{theirs['ece'][name]:.3f}", seconds(board.seconds(ours)) if done else "–"]
        lines.append([*line, seconds(theirs["seconds"][name])])
    return table(columns, lines)


def paper_ranks(sets: Sequence[str], methods: Sequence[str]) -> dict[str, float]:
    """The paper's mean ranks over those of its sets that are here, from its table 7."""
    areas = paper.numbers()["tabular"]["roc_auc"]
    scores = {name: {(one, 0): areas[one][name] for one in sets if one in areas} for name in methods}
    return Board.ranks_of(scores, [one for one in sets if one in areas])


def by_set(board: Board, score: str) -> str:
    """A score of each method on each set; the best of a line is bold."""
    areas = paper.numbers()["tabular"]["roc_auc"] if score == "auc" else {}
    lines = []
    for one in board.sets:
        values = {name: board.of_set(name, one, score) for name in board.methods}
        there = [value for value in values.values() if value is not None]
        best = max(there) if score == "auc" else min(there)
        theirs = {OURS.get(name, name): value for name, value in areas.get(one, {}).items()}
        lines.append([one, *(cell(value, best, theirs.get(name)) for name, value in values.items())])
    return table(["set", *board.methods], lines)


def cell(value: float | None, best: float, theirs: float | None) -> str:
    """A score as text, bold where it is the best to three digits, with the paper's in brackets."""
    if value is None:
        return "–"
    text = f"**{value:.3f}**" if round(value, 3) == round(best, 3) else f"{value:.3f}"
    return text if theirs is None else f"{text} ({theirs:.3f})"


def draw(rows: Sequence[Row]) -> Figure:
    """Figure 10: the share of class 1 in bins of its stated probability, over all predictions."""
    board = Board(rows)
    shown = [name for name in PANELS if name in board.complete] or board.complete[:3]
    figure, panels = plt.subplots(
        2 if len(shown) > 3 else 1, min(len(shown), 3), figsize=(9, 5 if len(shown) > 3 else 3), squeeze=False
    )
    for panel, name in zip(panels.flat, shown, strict=False):
        draw_panel(panel, board, name)
    for panel in panels.flat[len(shown) :]:
        panel.set_axis_off()
    figure.tight_layout()
    return figure


def draw_panel(panel: Axes, board: Board, name: str) -> None:
    """Bars of one method, the diagonal, and the paper's points where it has them."""
    stated, happened = board.predictions(name)
    bins = np.minimum((stated * FIGURE_BINS).astype(int), FIGURE_BINS - 1)
    counts = np.maximum(np.bincount(bins, minlength=FIGURE_BINS), 1)
    shares = np.bincount(bins, happened, minlength=FIGURE_BINS) / counts
    panel.bar((np.arange(FIGURE_BINS) + 0.5) / FIGURE_BINS, shares, 1 / FIGURE_BINS, color="#9ecae1", edgecolor="white")
    panel.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle="--")
    theirs = {OURS.get(label, label): points for label, points in paper.curves("calibration").items()}
    if name in theirs:
        panel.plot(*zip(*theirs[name], strict=True), "o", color="#de2d26", markersize=3, label="the paper")
        panel.legend(fontsize=7)
    panel.set_title(f"{name}: ECE {board.calibration_error(name):.3f} ({BINS} bins)", fontsize=8)
    panel.set_xlabel("probability of class 1", fontsize=8)
    panel.set_ylabel("share of class 1", fontsize=8)
    panel.tick_params(labelsize=7)
