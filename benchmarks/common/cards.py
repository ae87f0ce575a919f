"""Numbers on the cards of released models, measured again after their release."""

import json
from pathlib import Path
from typing import Any

from priorfit.checkpoint import CONFIG, write_atomically
from priorfit.zoo.catalogue import FOLDER

AT_RELEASE = "at_release"
"""The name under which a card keeps numbers that were not measured again, with their own circumstances."""


def write_measured(name: str, numbers: dict[str, Any], zoo: Path = FOLDER) -> None:
    """Put numbers on the card of a released model; its weights, and all else in its folder, stay as they are."""
    file = zoo / name / CONFIG
    config = json.loads(file.read_text(encoding="utf-8"))
    config["card"]["measured"] = renewed(config["card"]["measured"], numbers)
    write_atomically(file, json.dumps(config, indent=2, allow_nan=False) + "\n")


def renewed(before: dict[str, Any], numbers: dict[str, Any]) -> dict[str, Any]:
    """The new numbers; those of other names are kept apart, under the circumstances that they were measured in.

    >>> renewed({"nll": 1.0, "half": 0.1, "circumstances": "old"}, {"nll": 2.0, "circumstances": "new"})
    {'nll': 2.0, 'circumstances': 'new', 'at_release': {'half': 0.1, 'circumstances': 'old'}}
    """
    others = {name: value for name, value in before.items() if name not in numbers and name != AT_RELEASE}
    first = before.get(AT_RELEASE) or ({**others, "circumstances": before["circumstances"]} if others else None)
    return numbers if first is None else {**numbers, AT_RELEASE: first}
