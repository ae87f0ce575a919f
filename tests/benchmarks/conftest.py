from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def benchmarks_on_the_path(monkeypatch: pytest.MonkeyPatch, as_users_run_it: None) -> Iterator[None]:
    threads = torch.get_num_threads()
    monkeypatch.syspath_prepend(str(ROOT))
    yield
    torch.set_num_threads(threads)
