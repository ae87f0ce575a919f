from dataclasses import replace

import pytest
import torch

from priorfit.errors import RecipeError
from priorfit.priors import ClusteredInputs, Gamma, GaussianProcess, HyperGaussianProcess
from priorfit.training.batches import draw_batch
from priorfit.training.context_sizes import UniformSizes
from priorfit.training.other_contexts import OtherContexts
from priorfit.training.recipe import Budget, DataSettings, Recipe, recipe_from

WIDE = HyperGaussianProcess(outputscale_prior=Gamma(1e4, 1.0), inputs=ClusteredInputs(most=1, width=0.01))
DATA = DataSettings(
    batch_size=8,
    num_queries=5,
    context_sizes=UniformSizes(3),
    targets="expected",
    contexts=OtherContexts(WIDE, share=0.25, largest=4),
)


def recipe(num_points: int = 5, data: DataSettings = DATA) -> Recipe:
    return Recipe(HyperGaussianProcess(), num_points, Budget(steps=1), data=data)


def test_a_share_of_the_datasets_has_contexts_of_the_other_prior():
    plain = draw_batch(recipe(data=replace(DATA, contexts=None)), 0, 0)
    batch = draw_batch(recipe(), 0, 0)
    width = (batch.context_x.amax(1) - batch.context_x.amin(1))[:, 0]
    assert (width[:2] < 0.011).all()
    assert (width[2:] > 0.011).all()
    assert batch.context_y[:2].abs().max() > 30  # a standard deviation of 100
    for name in ("context_x", "context_y", "query_y"):
        assert torch.equal(getattr(batch, name)[2:], getattr(plain, name)[2:])
    assert torch.equal(batch.query_x, plain.query_x)


def test_the_drawn_targets_come_from_the_targets_distribution():
    batches = [draw_batch(recipe(), step, 0) for step in range(60)]
    level = torch.cat([batch.query_law.cdf(batch.query_y)[:2] for batch in batches if batch.query_law is not None])
    assert level.mean().item() == pytest.approx(0.5, abs=0.05)
    assert level.std().item() == pytest.approx(12**-0.5, abs=0.03)


def test_larger_contexts_are_the_priors_own():
    large, data = replace(DATA, context_sizes=UniformSizes(5)), replace(DATA, contexts=None)
    found = draw_batch(recipe(6, large), 0, 0)
    plain = draw_batch(recipe(6, replace(data, context_sizes=UniformSizes(5))), 0, 0)
    assert torch.equal(found.context_y, plain.context_y)


def test_a_recipe_with_other_contexts_survives_its_description():
    assert recipe_from(recipe().description()) == recipe()


def test_a_prior_without_posterior_draws_is_refused():
    other = replace(recipe(), prior=GaussianProcess())
    with pytest.raises(RecipeError, match="known for a HyperGaussianProcess; got GaussianProcess"):
        draw_batch(other, 0, 0)


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 1.5}, {"largest": -1}])
def test_a_share_is_one_and_sizes_are_not_negative(wrong: dict[str, float]):
    with pytest.raises(RecipeError, match="share of OtherContexts"):
        OtherContexts(WIDE, **wrong)  # pyright: ignore[reportArgumentType]
