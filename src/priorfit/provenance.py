"""When, where and by which code a number was measured; kept beside every row of a benchmark or a study."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

FILE = Path(__file__)


def circumstances(seed: int) -> dict[str, Any]:
    """All that is needed to judge a number that was measured just now with this seed.

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
    """Now, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def load() -> float:
    """Processes that wanted a core in the last minute; more than the measurement's own threads is a busy machine."""
    return round(os.getloadavg()[0], 2)


def commit(file: Path = FILE) -> str:
    """The commit of this library's clone, marked where files have been changed since; "unknown" outside of a clone."""
    is_tracked = _git(file, "ls-files", file.name)  # an installed copy may lie in a clone of something else
    described = _git(file, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*") if is_tracked else ""
    return described or "unknown"


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
