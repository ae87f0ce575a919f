from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import priorfit as pf
from priorfit import metrics
from priorfit.errors import InputError
from priorfit.training.finetuning import Shown, own_prior, shown
from priorfit.training.judge import EarlyStop, Judge
from priorfit.training.tasks import read_folder, split_tasks

SMALL = pf.NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)


@pytest.fixture(scope="module")
def model() -> pf.PFN:
    return pf.fit(pf.GaussianProcess(), num_points=12, steps=60, network=SMALL, progress=False)


def waves(count: int, rows: int = 40) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Tables of one function, y = 2 + sin(8 x), which the model does not know."""
    with pf.seeded(1):
        inputs = [torch.rand(rows, 1) for _ in range(count)]
    return [(x, 2 + torch.sin(8 * x[:, 0])) for x in inputs]


def loss_on(model: pf.Model, tables: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
    losses = [-model.condition(x[:8], y[:8]).predict(x[8:]).log_prob(y[8:]).mean() for x, y in tables]
    return float(torch.stack(losses).mean())


@dataclass
class Learned:
    """A model before and after it was fine-tuned on waves alone."""

    before: dict[str, torch.Tensor]
    tuned: pf.PFN


def tuned_on_waves(model: pf.PFN, keep: float) -> pf.PFN:
    return pf.finetune(model, waves(6), steps=120, learning_rate=3e-3, keep=keep, progress=False)


@pytest.fixture(scope="module")
def learned(model: pf.PFN) -> Learned:
    return Learned({name: value.clone() for name, value in model.state_dict().items()}, tuned_on_waves(model, 0.0))


def test_a_model_learns_the_tasks_and_the_one_given_stays_as_it_was(model: pf.PFN, learned: Learned):
    before, tuned = learned.before, learned.tuned
    assert loss_on(tuned, waves(8)[6:]) < loss_on(model, waves(8)[6:]) - 0.3
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert tuned.problem == model.problem
    told = tuned.card.training["left_out"]
    assert told["best"] < told["before"] - 0.3 and told["best_step"] > 0
    assert tuned.card.training["started_from"]["name"] == model.card.name


def test_smaller_contexts_of_fine_tuning_do_not_hide_those_that_the_model_knew(model: pf.PFN, tmp_path: Path):
    tuned = pf.finetune(model, waves(3), steps=1, num_points=5, progress=False, folder=tmp_path / "run")
    assert tuned.card.recipe["num_points"] == 5
    assert tuned.card.trained_context == pf.load(tmp_path / "run" / "model").card.trained_context == (0, 11)


@pytest.mark.usefixtures("as_users_run_it")
def test_mixing_with_the_original_prior_forgets_less(model: pf.PFN, learned: Learned):
    with pf.seeded(5):
        task = pf.GaussianProcess().sample(200, 11).split(8)
    forgotten, kept = (float(metrics.nll(each, task).mean) for each in (learned.tuned, tuned_on_waves(model, 0.7)))
    assert kept < forgotten - 0.1


def test_a_run_that_gains_nothing_stops_early_and_keeps_the_first_weights(model: pf.PFN):
    with pf.seeded(2):
        noise = [(torch.rand(30, 1), 1e4 * torch.randn(30) ** 3) for _ in range(3)]
    judged_by = pf.GaussianProcess()
    tuned = pf.finetune(
        model, noise, steps=400, keep=0.0, learning_rate=0.05, left_out=judged_by, patience=2, progress=False
    )
    assert tuned.card.training["steps"] < 400
    assert tuned.card.training["left_out"]["best_step"] == 0
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in tuned.state_dict().items())


@pytest.mark.usefixtures("as_users_run_it")
def test_a_stopped_run_goes_on_to_the_same_weights(model: pf.PFN, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from priorfit.training import finetuning, loop

    options = {"steps": 40, "progress": False, "keep": 0.3}
    whole = pf.finetune(model, waves(4), folder=tmp_path / "whole", **options)
    taken = loop.Trainer.take_step

    def killed(trainer: loop.Trainer) -> object:
        if trainer.step == 25:
            raise RuntimeError("killed")
        return taken(trainer)

    monkeypatch.setattr(loop.Trainer, "take_step", killed)
    monkeypatch.setattr(finetuning, "RunOptions", partial(pf.RunOptions, checkpoint_seconds=0.0))
    with pytest.raises(RuntimeError, match="killed"):
        pf.finetune(model, waves(4), folder=tmp_path / "stopped", **options)
    monkeypatch.setattr(loop.Trainer, "take_step", taken)
    again = pf.finetune(model, waves(4), folder=tmp_path / "stopped", resume=True, **options)
    assert all(torch.equal(value, whole.state_dict()[name]) for name, value in again.state_dict().items())
    assert again.card.training["left_out"] == whole.card.training["left_out"]


def test_tasks_are_shown_as_condition_reads_them():
    problem = pf.Problem(3, pf.Real(), min_features=1, units="free")
    batch = pf.ResampledTables(waves(1)).sample_split(4, 10, 5)
    seen = shown(batch, problem)
    assert seen.context_x.shape == (4, 10, 3)
    torch.testing.assert_close(seen.context_y.mean(1), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(seen.context_y.std(1), torch.ones(4), atol=1e-4, rtol=0)
    torch.testing.assert_close(seen.context_x[..., 0].std(1), torch.full((4,), 3.0), atol=1e-3, rtol=0)  # as padded


def test_of_tables_some_judge_and_no_row_of_them_is_trained_on():
    problem = pf.Problem(1, pf.Real())
    split = split_tasks(waves(10), problem, 0.2, seed=0)
    assert isinstance(split.shown, pf.ResampledTables) and isinstance(split.left_out, pf.ResampledTables)
    inputs = [torch.cat([x for x, _ in each.tables]).flatten().tolist() for each in (split.shown, split.left_out)]
    assert len(inputs[0]) == 320 and len(inputs[1]) == 80 and not set(inputs[0]) & set(inputs[1])
    alone = split_tasks(waves(1), problem, 0.25, seed=0)
    assert isinstance(alone.left_out, pf.ResampledTables) and alone.left_out.most_points == 10


def test_a_folder_of_tables_and_a_folder_of_images_are_tasks(tmp_path: Path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("x,target\n1,2.5\n,3\n", encoding="utf-8")
    ((x, y),) = read_folder(tmp_path / "tables")
    assert y.tolist() == [2.5, 3.0] and x[0].item() == 1.0 and bool(x[1].isnan())
    image = pytest.importorskip("PIL.Image")
    for group in ("latin", "greek"):
        for label in ("a", "b"):
            place = tmp_path / "images" / group / label
            place.mkdir(parents=True)
            for drawer in range(3):
                pixels = np.full((4, 4), 255, dtype=np.uint8)
                pixels[drawer, 0 if label == "a" else 3] = 0  # dark ink
                image.fromarray(pixels).save(place / f"{drawer}.png")
    tables = read_folder(tmp_path / "images")
    assert len(tables) == 2 and tables[0][0].shape == (6, 16) and tables[0][1].tolist() == [0, 0, 0, 1, 1, 1]
    assert tables[0][0].sum(1).tolist() == [1.0] * 6 and tables[0][0][0].argmax() == 0
    prior = split_tasks(tmp_path / "images", pf.Problem(16, pf.Classes(5), min_classes=2), 0.5, seed=0).shown
    assert isinstance(prior, pf.FewShot) and prior.outcome == pf.Classes(5)


def test_a_judge_is_over_after_so_many_readings_without_a_better_one():
    recipe = pf.Recipe(pf.GaussianProcess(), 5, pf.Budget(steps=1))
    judge = Judge(EarlyStop(pf.GaussianProcess(), patience=2), recipe)
    found = []
    for step, loss in enumerate([3.0, 2.0, 2.5, 1.9, 1.95, 2.0]):
        judge.note(step, loss, {"w": torch.tensor(float(step))})
        found.append(judge.is_over)
    assert found == [False, False, False, False, False, True]
    assert judge.best == {"w": torch.tensor(3.0)}


def test_a_judge_asks_about_as_many_datasets_as_it_is_told():
    recipe = pf.Recipe(pf.GaussianProcess(), 5, pf.Budget(steps=1))
    judge = Judge(EarlyStop(pf.GaussianProcess(), datasets=40), recipe)
    assert [len(task.context_x) for task in judge._tasks] == [40] * 4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"keep": 1.0}, "keep must be"),
        ({"patience": 0}, "patience must be"),
        ({"left_out": 1.5}, "left_out is a prior, or a share"),
        ({"tasks": []}, "an empty list"),
        ({"tasks": "nowhere"}, "no folder of tasks"),
        ({"tasks": [(torch.rand(9, 2), torch.rand(9))] * 2}, "takes 1 column; the tasks have 2"),
        ({"tasks": pf.BetaBernoulli()}, "both must be the same"),
    ],
)
def test_wrong_arguments_are_refused(model: pf.PFN, change: dict[str, object], words: str):
    arguments = {"model": model, "tasks": waves(2), "steps": 1, "progress": False} | change
    with pytest.raises(InputError, match=words):
        pf.finetune(**arguments)  # pyright: ignore[reportArgumentType]


def test_a_prior_that_is_no_recipe_cannot_be_mixed_in():
    model = pf.PFN(SMALL, pf.Problem(1, pf.Real(), (0.0, 1.0)), target_sample=torch.randn(9, 9))
    with pytest.raises(InputError, match="keep=0"):
        own_prior(model)
    assert Shown(pf.GaussianProcess(), model.problem).shows_as_read
