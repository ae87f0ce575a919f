"""The tables of the pilots, as markdown, from the rows that `pilot.py --save` left.

python benchmarks/pilots/pilots_table.py            print them
python benchmarks/pilots/pilots_table.py --write    put them into docs/training_on_cpu.md, between its two marks
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

from benchmarks.common.report import RESULTS

ROWS = RESULTS / "pilots.jsonl"
PAGE = Path(__file__).parents[2] / "docs" / "training_on_cpu.md"
BEGIN, END = "<!-- pilots: begin (python benchmarks/pilots/pilots_table.py --write) -->", "<!-- pilots: end -->"
HEADER = "| change | targets | steps | seconds | gap | floor of the head |\n| --- | --- | ---: | ---: | ---: | ---: |"
Row = Mapping[str, Any]


def read(path: Path) -> list[Row]:
    """The rows in the order in which they were measured."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def tables(rows: Iterable[Row]) -> str:
    """A table for each task and budget, in order of appearance."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(heading(row), []).append(row)
    return "\n\n".join(f"### {title}\n{HEADER}\n" + "\n".join(map(line, group)) for title, group in groups.items())


def heading(row: Row) -> str:
    """What the pilots of one table have in common.

    >>> heading({"task": "gp-5d", "budget": {"minutes": None, "steps": 1200}, "threads": 1})
    '`gp-5d`, 1,200 steps, 1 thread'
    """
    unit, amount = next((unit, amount) for unit, amount in row["budget"].items() if amount is not None)
    threads = "1 thread" if row["threads"] == 1 else f"{row['threads']} threads"
    return f"`{row['task']}`, {amount:,} {unit}, {threads}"


def line(row: Row) -> str:
    """One pilot."""
    cells = (
        change(row),
        row["targets"],
        f"{row['training']['steps']:,}",
        f"{row['training']['seconds']:,.0f}",
        f"{row['gap']:z.4f} ± {row['half_width']:.4f}",
        f"{row['floor']:z.4f}",
    )
    return f"| {' | '.join(cells)} |"


def change(row: Row) -> str:
    """What was changed: the note, if there is one, and the settings; targets and defaults have columns of their own."""
    settings = [each for each in row["changes"] if not each.startswith("data.targets=")]
    code = f"`{' '.join(settings)}`".replace("|", "\\|") if settings else ""
    start = f"from `{row['start']}`" if row.get("start") else ""
    seed = f"seed {row['seed']}" if row["seed"] else ""
    return ", ".join(part for part in (row.get("note", ""), code, start, seed) if part) or "none"


def written(page: str, content: str) -> str:
    """The page with what is between its marks replaced."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{content}\n{END}{after}"


def main() -> None:
    """Print the tables, or put them into the docs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    content = tables(read(ROWS))
    if parser.parse_args().write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), content), encoding="utf-8")
    else:
        print(content)


if __name__ == "__main__":
    main()
