"""Rows in a file of JSON lines, each written as soon as it is found: a run that was stopped goes on."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from priorfit.provenance import circumstances

Row = dict[str, Any]


class KeptRows:
    """Rows by their keys. A last line that a kill has cut short is dropped."""

    def __init__(self, file: Path, seed: int) -> None:
        self.file = file
        self.about = circumstances(seed)
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        if file.exists() and len(text) > text.rfind("\n") + 1:
            file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        self.found = {name_of(row["key"]): row for row in map(json.loads, lines)}

    def get(self, key: Mapping[str, str | int], find_out: Callable[[], Mapping[str, float]]) -> Row:
        """The row of a key, computed and kept if it is not there."""
        if name_of(key) not in self.found:
            row = {"key": dict(key), "found": dict(find_out()), "about": self.about}
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            self.found[name_of(key)] = row
        row = self.found[name_of(key)]
        return row["key"] | row["found"]


def name_of(key: Mapping[str, str | int]) -> str:
    """The same text for the same key."""
    return json.dumps(key, sort_keys=True)
