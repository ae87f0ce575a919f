"""CSV files, and the command line that reads them: `read_table`, `priorfit predict` and the other commands."""

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from hostile.cases import CHANGED, LINE, QUERY, RIGHT, Case, LineOfError, X, Y, check, scratch, waves

from priorfit.cli.application import execute
from priorfit.tables import answered, checked_levels, read_table, split_table

INPUT = "`InputError`"
ROWS = [f"{x},{y}" for x, y in zip(X[:, 0], Y, strict=True)]
ASKED = [f"{x}," for x in QUERY[:, 0]]
CLEAN = "\n".join(["x,y", *ROWS, *ASKED]) + "\n"


def csv(content: str | bytes) -> Path:
    place = scratch() / f"{uuid4().hex}.csv"
    place.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


def means(content: str | bytes) -> object:
    """What `gp-rbf-1d` says of the rows of a table."""
    file = csv(content)
    return answered(waves(), split_table(read_table(file), "data.csv"), "data.csv").ppd


def by_python() -> object:
    return waves().condition(X, Y).predict(QUERY)


def command(*arguments: str) -> str:
    """What a command writes; its one line of error is an error."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = execute(list(arguments))
    if code == 0:
        return out.getvalue()
    lines = [line for line in err.getvalue().splitlines() if line.startswith("error: ")]
    if len(lines) != 1 or "Traceback" in err.getvalue() or out.getvalue():
        raise RuntimeError(f"not one line of error: {out.getvalue()!r} {err.getvalue()!r}")
    raise LineOfError(lines[0])


def predicted(content: str | bytes, *more: str) -> object:
    """The column ``mean`` of `priorfit predict`."""
    header, *rows = command("predict", "gp-rbf-1d", str(csv(content)), *more).splitlines()
    place = header.split(",").index("mean")
    return np.array([float(row.split(",")[place]) for row in rows])


def spoilt(**replaced: str) -> str:
    return CLEAN.replace("0.4,0.8", replaced["row"])


WRITTEN = {
    ("size", "an empty file"): ("", None),
    ("size", "a header alone"): ("x,y\n", None),
    ("size", "no rows to predict"): ("\n".join(["x,y", *ROWS]), None),
    ("size", "200 columns"): (
        ",".join(f"x{i}" for i in range(200)) + ",y\n" + "1," * 200 + "\n" + "1," * 200 + "2\n",
        None,
    ),
    ("shape", "no header"): ("\n".join(ROWS + ASKED), None),
    ("shape", "a row that is too short"): (spoilt(row="0.4"), None),
    ("shape", "a row that is too long"): (spoilt(row="0.4,0.8,0.9"), None),
    ("shape", "two columns of one name"): (CLEAN.replace("x,y", "y,y"), None),
    ("shape", "a column without a name"): (CLEAN.replace("x,y", ",y"), None),
    ("shape", "one column"): ("y\n1\n\n2\n", None),
    ("type", "text among numbers"): (spoilt(row="red,0.8"), None),
    ("type", "text as target"): (spoilt(row="0.4,high"), None),
    ("type", "a date"): (spoilt(row="2026-01-01,0.8"), None),
    ("type", "decimals with a comma"): (CLEAN.replace("0.4,0.8", '"0,4",0.8'), None),
    ("type", "digits with underscores"): (spoilt(row="0.4,1_000"), None),
    ("type", "a quote that is not closed"): (spoilt(row='"0.4,0.8'), None),
    ("dtype", "UTF-16"): (CLEAN.encode("utf-16"), None),
    ("dtype", "binary"): (bytes(range(256)), None),
    ("dtype", "null bytes"): (CLEAN.encode() + b"\0\0", None),
    ("dtype", "UTF-8 with a byte order mark"): (b"\xef\xbb\xbf" + CLEAN.encode(), by_python),
    ("dtype", "lines that end in CR LF"): (CLEAN.replace("\n", "\r\n"), by_python),
    ("dtype", "semicolons"): (CLEAN.replace(",", ";"), by_python),
    ("dtype", "tabs"): (CLEAN.replace(",", "\t"), by_python),
    ("dtype", "spaces around the cells"): (CLEAN.replace(",", " , "), by_python),
    ("dtype", "quotes around the cells"): (spoilt(row='"0.4","0.8"'), by_python),
    ("dtype", "numbers as 4e-1"): (spoilt(row="4e-1,8E-1"), by_python),
    ("NaN", "NA as an empty target"): ("\n".join(["x,y", *ROWS, *(f"{row}NA" for row in ASKED)]), by_python),
    ("NaN", "NaN as an empty target"): ("\n".join(["x,y", *ROWS, *(f"{row}NaN" for row in ASKED)]), by_python),
    ("NaN", "an infinite input"): (spoilt(row="inf,0.8"), None),
    ("NaN", "an infinite target"): (spoilt(row="0.4,-inf"), None),
    ("range", "an input of 1e300"): (spoilt(row="1e300,0.8"), None),
    ("range", "a target of 1e300"): (spoilt(row="0.4,1e300"), None),
    ("range", "a number of 400 digits"): (spoilt(row=f"0.4,{'9' * 400}"), None),
}

FILLED = {("NaN", "a missing input"): spoilt(row=",0.8")}

COMMANDS = {
    ("file", "a table that is not there"): ("predict", "gp-rbf-1d", "nowhere.csv"),
    ("file", "a folder as table"): ("predict", "gp-rbf-1d", "/tmp"),
    ("file", "a device as table"): ("predict", "gp-rbf-1d", "/dev/null"),
    ("file", "a model that is not there"): ("predict", "gp", str(csv(CLEAN))),
    ("file", "an answer into no folder"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--out", "/nowhere/answer.csv"),
    ("file", "an answer to a device"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--out", "/dev/null/answer.csv"),
    ("file", "a picture of no format"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--plot", "answer.docx"),
    ("range", "a quantile of 95"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--quantiles", "95"),
    ("NaN", "a quantile of NaN"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--quantiles", "nan"),
    ("type", "quantiles as text"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--quantiles", "low,high"),
    ("type", "no quantiles"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--quantiles", ""),
    ("type", "a target that is no column"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--target", "z"),
    ("type", "a format that is none"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--format", "xml"),
    ("type", "a seed as text"): ("predict", "gp-rbf-1d", str(csv(CLEAN)), "--seed", "a"),
    ("type", "no arguments"): ("predict",),
    ("type", "an option that is none"): ("models", "--fast"),
    ("type", "a table that is missing"): ("predict", "gp-rbf-1d"),
    ("type", "a command that is none"): ("guess",),
    ("file", "verify a model that is not there"): ("verify", "gp"),
    ("range", "verify at n = -1"): ("verify", "gp-rbf-1d", "--n", "-1"),
    ("range", "verify on one dataset"): ("verify", "gp-rbf-1d", "--datasets", "1"),
    ("type", "verify at n = 2.5"): ("verify", "gp-rbf-1d", "--n", "2.5"),
    ("file", "a recipe that is not there"): ("train", "nowhere.toml"),
    ("file", "a table as recipe"): ("train", str(csv(CLEAN))),
    ("file", "a folder as recipe"): ("train", "/tmp"),
    ("dtype", "a binary recipe"): ("train", str(csv(bytes(range(256))))),
    ("size", "an empty recipe"): ("train", str(csv(""))),
    ("type", "a demo of a model that is none"): ("demo", "gp"),
    ("shape", "a demo of five columns"): ("demo", "gp-rbf-5d", "--no-browser"),
    ("range", "a demo at port 99999"): ("demo", "--port", "99999"),
    ("type", "a demo at a host that is none"): ("demo", "gp-rbf-1d", "--host", "no.such.host.invalid", "--no-browser"),
}

LEVELS = {("range", "a level of 0"): [0.0], ("range", "a level of 95"): [95.0], ("NaN", "NaN as level"): [np.nan]}

CASES = [
    *(
        Case("read_table", *key, lambda text=text: means(text), RIGHT if clean else INPUT, clean)
        for key, (text, clean) in WRITTEN.items()
    ),
    *(
        Case(
            "priorfit predict",
            *key,
            lambda text=text: predicted(text),
            RIGHT if clean else LINE,
            clean and (lambda: by_python().mean),
        )
        for key, (text, clean) in WRITTEN.items()
    ),
    *(Case("read_table", *key, lambda text=text: means(text), CHANGED) for key, text in FILLED.items()),
    *(Case("priorfit predict", *key, lambda text=text: predicted(text), RIGHT) for key, text in FILLED.items()),
    *(Case("priorfit", *key, lambda words=words: command(*words), LINE) for key, words in COMMANDS.items()),
    *(
        Case("checked_levels", *key, lambda levels=levels: checked_levels(levels), INPUT)
        for key, levels in LEVELS.items()
    ),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_files_and_commands(case: Case) -> None:
    check(case)
