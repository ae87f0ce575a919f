import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "studies", "benchmarks", "examples")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))

MAX_LINES_OF_A_FILE = 300
MAX_LINES_OF_A_FUNCTION = 60


def functions(file: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_and_its_functions_can_be_read_at_once(file: Path) -> None:
    lines = len(file.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES_OF_A_FILE, f"{file.relative_to(ROOT)} has {lines} lines. Split it."
    for function in functions(file):
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        assert length <= MAX_LINES_OF_A_FUNCTION, (
            f"{function.name} in {file.relative_to(ROOT)} has {length} lines. Split it."
        )
