"""The tables of the page on own priors, from the rows that the pilots of own priors keep.

python benchmarks/pilots/own_priors_page.py            print them
python benchmarks/pilots/own_priors_page.py --write    put them into docs/own_priors.md, each between its marks
"""

import argparse
import io
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

from benchmarks.common.kept_rows import KeptRows
from benchmarks.pilots import own_priors_gaps as gaps
from benchmarks.pilots import own_priors_latents as latents
from benchmarks.pilots import own_priors_plain as plain
from benchmarks.pilots import own_priors_tables, own_priors_truth, race

PAGE = Path(__file__).parents[2] / "docs" / "own_priors.md"
MINUTES = 3.0
"""The budget of the networks that the page shows."""

TABLES: dict[str, Callable[[], None]] = {
    "gaps": lambda: gaps.tell(KeptRows(gaps.ROWS, gaps.SEED)),
    "latents": lambda: own_priors_tables.tell(KeptRows(latents.ROWS, latents.SEED), MINUTES),
    "truth": lambda: own_priors_truth.tell(KeptRows(own_priors_truth.ROWS, 0)),
    "race": lambda: race.tell(KeptRows(race.ROWS, race.SEED), MINUTES),
    "plain": lambda: plain.tell(KeptRows(plain.ROWS, plain.SEED)),
}


def printed(name: str) -> str:
    """A table as markdown."""
    with redirect_stdout(io.StringIO()) as found:
        TABLES[name]()
    return found.getvalue().strip()


def written(page: str) -> str:
    """The page with the tables of today between its marks."""
    for name in TABLES:
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        between = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        content = f"{begin}\n{printed(name)}\n{end}"
        page = between.sub(lambda _, content=content: content, page)
    return page


def main() -> None:
    """Print the tables, or put them into the docs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.name}")
    page = written(PAGE.read_text(encoding="utf-8"))
    if parser.parse_args().write:
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
