import re
from pathlib import Path

import pytest

from priorfit.cli.main import run


@pytest.mark.parametrize("targets", ["sampled", "expected"])
def test_the_quickstart_prints_the_gap_and_draws_the_picture(
    targets: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "picture.png"
    monkeypatch.setattr("priorfit.cli.comparison.NUM_DATASETS", 30)
    options = ["--minutes", "0.002", "--targets", targets, "--picture", str(picture)]
    monkeypatch.setattr("sys.argv", ["priorfit", "quickstart", *options])
    with pytest.raises(SystemExit) as stop:
        run()
    assert not stop.value.code
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("NLL", "exact NLL", "gap", "floor"))
    assert [int(n) for n in re.findall(r"^ *(\d+) ", printed, flags=re.MULTILINE)] == [3, 5, 10, 20]
    assert re.search(r"mean +\d+\.\d{3}", printed)
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000
