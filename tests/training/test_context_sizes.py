import pytest
import torch

from priorfit.errors import RecipeError
from priorfit.seeding import seeded
from priorfit.training import LogUniformSizes, PaperSizes, UniformSizes


def test_the_papers_sizes_ask_about_every_n_equally_often():
    weights = PaperSizes().weights(50)
    queries = 50 - torch.arange(50)
    torch.testing.assert_close(weights * queries, torch.ones(50, dtype=torch.float64))


@pytest.mark.parametrize("sizes", [UniformSizes(), UniformSizes(3), PaperSizes(), LogUniformSizes()])
def test_draws_follow_the_weights_and_stay_in_range(sizes):
    with seeded(0):
        counts = torch.bincount(torch.tensor([sizes.draw(12) for _ in range(6_000)]), minlength=12)
    expected = sizes.weights(12) / sizes.weights(12).sum() * 6_000
    low, high = sizes.range(12)
    assert counts[:low].sum() == 0 and high == 11
    assert ((counts - expected).abs() <= 5 * expected.sqrt()).all()


def test_a_smallest_context_beyond_the_points_is_refused():
    with pytest.raises(RecipeError, match="below num_points = 5; got 7"):
        UniformSizes(7).draw(5)
