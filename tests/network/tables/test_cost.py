"""What a large table costs, in a process of its own: memory is counted from its start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 20.0
"""Of processor time, three times what one thread takes on the machine that trains the models."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory of a process on Linux alone")
@pytest.mark.parametrize(("classes", "gigabytes"), [(2, 2.0), (10, 4.0)])
def test_500_rows_of_100_columns_and_500_queries_are_answered_in_seconds_and_little_memory(
    classes: int, gigabytes: float, pytestconfig: pytest.Config
):
    script = Path(pytestconfig.rootpath) / "benchmarks" / "speed" / "large_table.py"
    command = [sys.executable, str(script), f"--case={classes}", "--threads=1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["processor_seconds"] < SECONDS * classes / 2
    assert found["gigabytes"] < gigabytes
