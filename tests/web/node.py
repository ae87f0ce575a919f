"""Scripts under node, which runs the very modules that the page is made of."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from web.fixtures import write_fixture

import priorfit.web

NODE = shutil.which("node")
MODULES = Path(priorfit.web.__file__).parent / "js"
HERE = Path(__file__).parent
TOLERANCE = 1e-5
"""The most by which numbers of the page may differ from those of Python."""

needs_node = pytest.mark.skipif(NODE is None, reason="needs node: apt-get install nodejs")


def run_script(name: str, *arguments: object) -> Any:
    """What a script of this folder prints, as JSON; its first argument is where the modules are."""
    command = [NODE or "", str(HERE / name), MODULES.as_uri(), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compared(folder: Path) -> dict[str, float]:
    """The largest difference of each layer and of the log densities, between Python and JavaScript."""
    (found,) = run_script("parity.mjs", folder, write_fixture(folder))
    return found
