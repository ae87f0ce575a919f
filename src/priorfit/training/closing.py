"""The last line of a training: how far the network is from the truth, and whether more minutes would help."""

from priorfit.metrics import Estimate
from priorfit.network import ModelCard
from priorfit.training.progress import Display

NEGLIGIBLE = 0.005
"""A gap in nats that is surely below this is hardly worth more minutes: no training can gain more than the gap."""

EARLY = 0.5
"""Weights that no later reading bettered after this share of the steps say that the training has ended by itself."""


def closing_words(card: ModelCard) -> str:
    """What a training came to; empty where it was compared with nothing, so that nobody knows what more would bring."""
    gap, judged = card.training.get("gap"), card.training.get("left_out")
    found, is_done = list[str](), False
    if gap:
        estimate = Estimate(gap["mean"], gap["half_width"], gap["datasets"])
        found.append(f"gap {estimate} nats, the most that more training could gain")
        is_done = gap["mean"] + gap["half_width"] <= NEGLIGIBLE
    if judged:
        found.append(f"the best weights are those of step {judged['best_step']} of {card.training['steps']}")
        is_done = is_done or judged["best_step"] <= EARLY * card.training["steps"]
    verdict = "More minutes would hardly help." if is_done else "More minutes may help: model.fit_more(minutes=...)."
    return f"{card.name}: {'; '.join(found)}. {verdict}" if found else ""


def close(card: ModelCard, display: Display) -> None:
    """Say what a training came to."""
    if words := closing_words(card):
        display.announce(words)
