import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "studies", "benchmarks", "examples")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))

MAX_LINES_OF_A_FILE = 300
MAX_LINES_OF_A_FUNCTION = 60


def functions(file: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_every_file_and_function_can_be_read_at_once() -> None:
    too_long = []
    for file in FILES:
        name, lines = file.relative_to(ROOT), len(file.read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES_OF_A_FILE:
            too_long.append(f"{name} has {lines} lines")
        for function in functions(file):
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            if length > MAX_LINES_OF_A_FUNCTION:
                too_long.append(f"{function.name} in {name} has {length} lines")
    assert len(FILES) > 300 and not too_long, f"Split: {'; '.join(too_long)}."
