"""When, where and by which code a number was measured; kept beside every row of a benchmark or a study."""

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

FILE = Path(__file__)


def circumstances(seed: int) -> dict[str, Any]:
    """The circumstances of a number that is measured now with this seed.

    >>> sorted(circumstances(seed=0))
    ['commit', 'cores', 'cpu', 'date', 'load', 'seed', 'threads', 'torch']
    """
    return {
        "commit": commit(),
        "date": date(),
        "seed": seed,
        "threads": torch.get_num_threads(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "load": load(),
    }


def date() -> str:
    """The current time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def load() -> float:
    """Processes that wanted a core in the last minute; more than the measurement's own threads is a busy machine."""
    return round(os.getloadavg()[0], 2)


def commit(file: Path = FILE, script: Path | None = None) -> str:
    """The commit of this library's clone; "unknown" outside of a clone.

    It is marked "-dirty" where code has been changed since: that of the library, which lies beside ``file``, or of the
    script that runs (and what it loads from its own folder). Rows of results that were appended do not count, nor do
    the cards and weights of released models, whose files have a digest of their own.
    """
    is_tracked = _git(file, "ls-files", file.name)  # an installed copy may lie in a clone of something else
    head = _git(file, "rev-parse", "HEAD") if is_tracked else ""
    if not head:
        return "unknown"
    root = Path(_git(file, "rev-parse", "--show-toplevel"))
    code = [path for path in [file.parent, *running_files(script)] if path.resolve().is_relative_to(root.resolve())]
    released = f":(top,exclude,glob){(file.parent / 'zoo').resolve().relative_to(root.resolve()).as_posix()}/*/*"
    changes = _git(file, "status", "--porcelain", "--", *(str(path.resolve()) for path in code), released)
    return f"{head}-dirty" if changes else head


def running_files(script: Path | None = None) -> list[Path]:
    """The script that runs, by default that of this process, and the modules that it has loaded from its own folder.

    Where that folder is a room of a package, as ``benchmarks/speed`` is, the modules of all its rooms count.
    """
    main = vars(sys.modules["__main__"]).get("__file__") if script is None else str(script)
    if main is None:  # an interactive session
        return []
    own = Path(main).parent
    rooms = {own, *own.parent.iterdir()} if (own.parent / "__init__.py").exists() else {own}
    loaded = [vars(module).get("__file__") for module in list(sys.modules.values())]
    beside = {Path(each) for each in loaded if each and Path(each).parent in rooms}
    return sorted({Path(main), *beside})


def _git(file: Path, *arguments: str) -> str:
    try:
        answer = subprocess.run(["git", *arguments], cwd=file.parent, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git on this machine
        return ""
    return answer.stdout.strip()


def cpu_name() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
