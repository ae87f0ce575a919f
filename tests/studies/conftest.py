from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from matplotlib import pyplot as plt

FOLDER = Path(__file__).parents[2] / "studies"


@pytest.fixture(autouse=True)
def studies_on_the_path(monkeypatch: pytest.MonkeyPatch, as_users_run_it: None) -> Iterator[None]:
    threads = torch.get_num_threads()
    monkeypatch.syspath_prepend(str(FOLDER))
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    torch.set_num_threads(threads)
