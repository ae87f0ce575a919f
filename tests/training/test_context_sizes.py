import pytest
import torch
from tiny_recipes import tiny_recipe

from priorfit.errors import RecipeError
from priorfit.seeding import seeded
from priorfit.training import DataSettings, LogUniformSizes, PaperSizes, UniformSizes
from priorfit.training.batches import draw_batch
from priorfit.training.context_sizes import Growth


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


def test_one_size_gives_all_micro_batches_of_a_step_the_same_n():
    for same_n in (True, False):
        recipe = tiny_recipe(num_points=40, data=DataSettings(batch_size=1, micro_batches=4, same_n=same_n))
        sizes = [{draw_batch(recipe, step, j).context_y.shape[1] for j in range(4)} for step in range(5)]
        assert all(len(each) == 1 for each in sizes) == same_n


def test_the_number_of_points_grows():
    recipe = tiny_recipe(num_points=30, data=DataSettings(batch_size=1, growth=Growth(first=4, steps=10)))
    totals = [(batch := draw_batch(recipe, step, 0)).context_y.shape[1] + batch.query_y.shape[1] for step in range(12)]
    assert totals == [4 + 26 * step // 10 for step in range(11)] + [30]


def test_a_growth_from_nothing_is_refused():
    with pytest.raises(RecipeError, match="first and steps of at least 1"):
        Growth(first=0, steps=5)
