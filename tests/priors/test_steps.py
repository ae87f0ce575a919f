import pytest
import torch

from priorfit.errors import InputError
from priorfit.priors import Steps
from priorfit.seeding import seeded


def sorted_targets(steps: Steps, batch_size: int, num_points: int) -> torch.Tensor:
    """The targets from left to right."""
    with seeded(0):
        datasets = steps.sample(batch_size, num_points)
    return datasets.y.gather(1, datasets.x[..., 0].argsort(-1))


def test_the_pieces_are_constant_and_at_most_so_many():
    changes = sorted_targets(Steps(most=3), 3_000, 9).diff(dim=-1) != 0
    count = changes.sum(-1)
    assert count.max() == 2
    assert all((count == each).double().mean() > 0.15 for each in (0, 1, 2))


def test_some_pieces_hold_one_point_between_others():
    y = sorted_targets(Steps(most=3), 3_000, 9)
    alone = (y[:, 1:-1] != y[:, :-2]) & (y[:, 1:-1] != y[:, 2:])
    assert 0.02 < alone.any(-1).double().mean() < 0.2


def test_heights_are_normal_of_the_scale():
    y = sorted_targets(Steps(scale=4.0), 4_000, 5)[:, 0]
    assert y.mean().item() == pytest.approx(0.0, abs=0.2)
    assert y.std().item() == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("wrong", [{"most": 0}, {"num_features": 0}, {"scale": 0.0}])
def test_steps_have_pieces_and_a_scale(wrong: dict[str, float]):
    with pytest.raises(InputError, match="got"):
        Steps(**wrong)  # pyright: ignore[reportArgumentType]
