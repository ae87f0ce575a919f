from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from priorfit.distributions import UnboundedRiemann, best_fit


@pytest.fixture
def time_to_quality() -> ModuleType:
    from benchmarks.speed import time_to_quality  # pyright: ignore[reportMissingImports]

    return time_to_quality


def answer_exactly(time_to_quality: ModuleType, error: float) -> Any:
    """A peer whose logits are the best that its bars allow, and whose loss is off by ``error``."""

    def train_and_answer(request: dict[str, Any]) -> dict[str, float]:
        borders = torch.linspace(-4, 4, 201)
        answers = {"borders": borders.numpy()}
        for size, tasks in time_to_quality.questions(num_datasets=10).items():
            truth = time_to_quality.TASK.truth(tasks)
            ppd = best_fit(UnboundedRiemann(borders, torch.zeros(10, 1, 200)), truth)
            logits = ppd.logits.clamp(min=-80.0)
            loss = error - UnboundedRiemann(borders, logits).log_prob(tasks.query_y)
            answers |= {f"logits_{size}": logits.numpy(), f"loss_{size}": loss.numpy()}
        np.savez(request["answers"], **answers)
        return {"steps": 7}

    return train_and_answer


def test_the_peer_is_judged_by_the_density_it_was_trained_with(
    time_to_quality: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, asked = next(iter(time_to_quality.PEERS)), time_to_quality.questions(num_datasets=10)
    monkeypatch.setattr(time_to_quality, "train_and_answer", answer_exactly(time_to_quality, error=0.0))
    result = time_to_quality.peer(name, {"seed": 3}, asked)
    assert (result.seed, result.spent) == (3, {"steps": 7})
    for gaps in result.gaps.values():
        assert gaps.shape == (10,)
        assert (gaps > 0).all() and gaps.mean() < 0.5, "what is left is the floor of its bars"
    monkeypatch.setattr(time_to_quality, "train_and_answer", answer_exactly(time_to_quality, error=0.01))
    with pytest.raises(AssertionError, match="not close"):
        time_to_quality.peer(name, {"seed": 3}, asked)


def test_a_ratio_of_gaps_has_an_interval_of_paired_datasets(time_to_quality: ModuleType) -> None:
    noise = torch.rand(4, 500, generator=torch.Generator().manual_seed(0))

    def result(gaps: torch.Tensor) -> Any:
        return time_to_quality.Result("", 0, {}, dict(enumerate(gaps)), load=0.0)

    ratio, low, high = time_to_quality.ratio([result(3 * noise)], [result(noise)])
    assert [ratio, low, high] == pytest.approx([3.0, 3.0, 3.0]), "paired datasets of equal ratio leave no doubt"
    ratio, low, high = time_to_quality.ratio([result(3 * noise.flip(1))], [result(noise)])
    assert low < 3 < high
