"""One line of a report: the question, the finding, and the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["good", "doubtful", "bad", "not checked"]

NOTHING = "Nothing needs to be done."
TRAIN = "Train longer or a larger network, and make sure that it was trained on this prior."

WORST_FIRST: tuple[Verdict, ...] = ("bad", "doubtful", "good", "not checked")


@dataclass(frozen=True)
class Check:
    """A question about a model and its answer in plain words, of which the last sentence says what to do.

    ``numbers`` holds the numbers behind the words.
    """

    question: str
    verdict: Verdict
    words: str
    numbers: Mapping[str, object] = field(default_factory=dict)


def graded(value: float, good: float, doubtful: float) -> Verdict:
    """The verdict on a value that should be small; one that is not a number is bad.

    >>> graded(0.01, good=0.02, doubtful=0.05), graded(float("nan"), good=0.02, doubtful=0.05)
    ('good', 'bad')
    """
    if value <= good:
        return "good"
    return "doubtful" if value <= doubtful else "bad"


def advised(words: str, verdict: Verdict, advice: str) -> str:
    """The words, followed by what to do.

    >>> advised("The gap is 0.", "good", advice="Train longer.")
    'The gap is 0. Nothing needs to be done.'
    """
    return f"{words} {NOTHING if verdict == 'good' else advice}"


def worst(verdicts: list[Verdict]) -> Verdict:
    """The worst of some verdicts."""
    for verdict in WORST_FIRST:
        if verdict in verdicts:
            return verdict
    return "not checked"
