import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0].lower()


def constraints() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def tracked_files() -> list[Path]:
    try:
        done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a clone: no list of tracked files")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_the_core_needs_six_packages() -> None:
    needed = {name_of(requirement) for requirement in PROJECT["dependencies"]}
    assert needed == {"torch", "numpy", "safetensors", "jaxtyping", "rich", "typer"}


def test_all_is_every_extra_but_the_tools() -> None:
    (everything,) = EXTRAS["all"]
    named = set(everything.removeprefix("priorfit[").removesuffix("]").split(","))
    assert named == EXTRAS.keys() - {"all", "dev"}


def test_torch_is_pinned_and_never_needed_to_build() -> None:
    assert "torch" in constraints()
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert "torch" not in {name_of(requirement) for requirement in build}


def test_all_that_make_installs_by_name_is_pinned() -> None:
    requirements = PROJECT["dependencies"] + [one for extra in EXTRAS.values() for one in extra]
    assert {name_of(one) for one in requirements} - {"priorfit"} == constraints().keys()


# Written in parts, so that this file does not hold what it looks for.
OF_ONE_MACHINE = [
    "/" + "work/",
    "/" + "root/",
    "/" + "opt/",
    "/" + "home/",
    "files." + "pythonhosted.org",
    "pypi." + "org",
    "registry." + "npmjs",
    "deb." + "debian.org",
    "download." + "pytorch.org",
]


def test_no_tracked_file_names_a_path_of_one_machine_or_a_registry() -> None:
    for file in tracked_files():
        if file.suffix in {".safetensors", ".png", ".npz"}:
            continue
        content = file.read_text(encoding="utf-8")
        found = [text for text in OF_ONE_MACHINE if text in content]
        assert not found, f"{file.relative_to(ROOT)} names {found[0]}, which is not there on another machine."


def test_the_version_is_one_and_the_license_is_in_the_distribution() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", PROJECT["version"])
    assert "Apache License" in (ROOT / PROJECT["license-files"][0]).read_text()


def test_every_room_is_on_the_map() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    package = ROOT / "src" / "priorfit"
    rooms = {f"`{file.name}`" for file in package.glob("*.py") if file.name != "__main__.py"}
    rooms |= {f"`{file.parent.name}/`" for file in package.glob("*/__init__.py")}
    assert {room for room in rooms if room not in page} == set()
