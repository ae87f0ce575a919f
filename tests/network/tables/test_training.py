"""The loss of a network for tables, and short trainings with it."""

import math
from functools import partial
from pathlib import Path

import pytest
import torch
from network.tables.tiny_tables import OUTCOMES, TINY, shaken

from priorfit.data import Batch, Classes, Outcome
from priorfit.description import build
from priorfit.errors import InputError, RecipeError
from priorfit.priors import Tables
from priorfit.seeding import seeded
from priorfit.training import (
    Budget,
    DataSettings,
    OptimiserSettings,
    PowerSizes,
    Recipe,
    RunOptions,
    UniformSizes,
    fit,
    networks,
    train,
)
from priorfit.training.batches import draw_batch
from priorfit.training.devices import BatchLoss
from priorfit.training.trainer import Trainer

every_outcome = pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES.keys())
STEPS = 30


def recipe_for(outcome: Outcome, **optimiser: object) -> Recipe:
    return Recipe(
        prior=Tables(num_features=4, outcome=outcome),
        num_points=24,
        units="free",
        budget=Budget(steps=STEPS),
        name="tiny-tables",
        network=TINY,
        data=DataSettings(
            batch_size=8, num_queries=8, same_n=False, context_sizes=PowerSizes(offset=10.0, power=1.0, smallest=2)
        ),
        optimiser=OptimiserSettings(**{"learning_rate": 3e-3, **optimiser}),
    )


@pytest.fixture(autouse=True)
def _few_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hundred thousand targets would be most of these trainings."""
    monkeypatch.setattr(networks, "target_sample", partial(networks.target_sample, num_targets=3_000))


def batch_of(outcome: Outcome, rows: int = 20) -> Batch:
    with seeded(7):
        return Tables(num_features=4, outcome=outcome).sample(6, rows + 8).split(rows)


@every_outcome
def test_half_precision_changes_the_loss_by_little(outcome):
    model, batch = shaken(outcome), batch_of(outcome)
    exact = BatchLoss(model, 48.0, "float32")(batch)
    half = BatchLoss(model, 48.0, "bfloat16")(batch)
    assert half.dtype == torch.float32
    assert not torch.equal(half, exact), "it is not used"
    assert float(half) == pytest.approx(float(exact), abs=0.05)


@every_outcome
def test_weights_get_gradients_in_either_precision_that_point_the_same_way(outcome):
    found = []
    for precision in ("float32", "bfloat16"):
        model = shaken(outcome).requires_grad_(True)
        BatchLoss(model, 48.0, precision)(batch_of(outcome)).backward()
        assert all(weight.grad is not None and weight.grad.isfinite().all() for weight in model.parameters())
        found.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
    assert float(torch.cosine_similarity(found[0], found[1], dim=0)) > 0.98


def test_a_network_that_knows_nothing_says_one_half_of_either_class_and_a_standard_density():
    """As built, the log odds are 0; those of an empty context are proper too."""
    with seeded(0):
        model = TINY.build(shaken(Classes(10)).problem)
    for rows in (0, 1, 20):
        torch.testing.assert_close(model.loss(batch_of(Classes(3), rows)), torch.full((6, 8), math.log(2)))


@every_outcome
def test_the_loss_of_a_query_does_not_depend_on_the_units_of_its_table(outcome):
    model, batch = shaken(outcome).double(), batch_of(outcome)
    scale, shift = (1.0, 0.0) if isinstance(outcome, Classes) else (5.0, 3.0)
    moved = Batch(
        20 * batch.context_x.double() - 3,
        scale * batch.context_y.double() + shift,
        20 * batch.query_x.double() - 3,
        scale * batch.query_y.double() + shift,
    )
    plain = Batch(*(getattr(batch, name).double() for name in ("context_x", "context_y", "query_x", "query_y")))
    torch.testing.assert_close(model.loss(moved), model.loss(plain) + math.log(scale), rtol=0, atol=1e-7)


@every_outcome
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_thirty_steps_lower_the_loss(outcome, precision):
    recipe = recipe_for(outcome, precision=precision)
    model = train(recipe)
    with seeded(0):
        untrained = TINY.build(model.problem)
    batches = [draw_batch(recipe, step, 0) for step in range(1_000, 1_020)]
    with torch.no_grad():
        before, after = (
            float(torch.stack([each.loss(b).mean() for b in batches]).mean()) for each in (untrained, model)
        )
    assert after < before - 0.01
    assert model.problem.missing and model.problem.fewest_features == 1
    assert model.problem.min_classes == (2 if isinstance(outcome, Classes) else None)
    assert model.card.trained_context == (2, 23)


@every_outcome
def test_a_run_that_died_resumes_to_the_bit(outcome, tmp_path: Path, monkeypatch):
    recipe, folder = recipe_for(outcome, precision="bfloat16"), tmp_path / "run"
    take_step = Trainer.take_step

    class Death(Exception):
        pass

    def dying(self: Trainer) -> object:
        if self.step == 11:
            raise Death
        return take_step(self)

    with monkeypatch.context() as patch, pytest.raises(Death):
        patch.setattr(Trainer, "take_step", dying)
        train(recipe, RunOptions(folder=folder, checkpoint_seconds=0))
    resumed, whole = train(recipe, RunOptions(folder=folder, resume=True)), train(recipe)
    assert all(torch.equal(resumed.state_dict()[name], value) for name, value in whole.state_dict().items())


def test_fit_sends_tables_of_any_number_of_columns_to_a_recipe():
    with pytest.raises(InputError, match=r"differ in it. Use train\(Recipe\(.*TableSettings"):
        fit(Tables(num_features=4), steps=1)


@pytest.mark.usefixtures("as_users_run_it")
def test_a_precision_that_is_none_is_refused():
    with pytest.raises(RecipeError, match="precision"):
        build({"type": "OptimiserSettings", "precision": "float16"}, {"OptimiserSettings": OptimiserSettings})


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_sizes_by_a_power_have_the_weights_that_they_say(power):
    sizes = PowerSizes(offset=30.0, power=power, smallest=3)
    weights = sizes.weights(50)
    expected = torch.tensor([0.0 if n < 3 else (n + 30.0) ** -power for n in range(50)], dtype=torch.float64)
    torch.testing.assert_close(weights / weights.sum(), expected / expected.sum())
    assert sizes.range(50) == (3, 49)
    with seeded(0):
        drawn = torch.tensor([sizes.draw(50) for _ in range(2_000)]).double()
    share = expected / expected.sum()
    mean = float((share * torch.arange(50)).sum())
    deviation = float((share * (torch.arange(50) - mean) ** 2).sum() ** 0.5)
    assert abs(float(drawn.mean()) - mean) < 4.5 * deviation / 2_000**0.5
    assert drawn.min() >= 3
    torch.testing.assert_close(PowerSizes(power=0.0).weights(9), UniformSizes().weights(9))


@pytest.mark.parametrize("settings", [{"offset": 0.0}, {"offset": -1.0}, {"smallest": -1}])
def test_sizes_that_are_none_are_refused(settings):
    with pytest.raises(RecipeError, match="offset must be positive"):
        PowerSizes(**settings)
