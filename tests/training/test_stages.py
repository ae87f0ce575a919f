import json
import signal
import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from forked import COMMAND_LINE, forked, run_forked
from tiny_recipes import TINY_TOML, tiny_recipe

from priorfit.baselines import NeuralProcessSettings
from priorfit.errors import RecipeError, TrainingError
from priorfit.network import Model, load_pfn
from priorfit.training import (
    Budget,
    DataSettings,
    OptimiserSettings,
    Recipe,
    RunOptions,
    Stage,
    UniformSizes,
    read_recipe,
    recipe_from,
    train,
)
from priorfit.training.progress import Display, Reading
from priorfit.training.trainer import Trainer

STAGED_TOML = (
    TINY_TOML.replace("[budget]\nsteps = {steps}\n", "")
    + """
[[stages]]
budget = {{steps = {steps}}}
[[stages]]
seed = 1
num_points = 6
budget = {{steps = {steps}}}
data = {{batch_size = 8, context_sizes = {{type = "UniformSizes", smallest = 1}}}}
optimiser = {{learning_rate = 1e-4}}
"""
)


def staged(steps: int = 4, **changes: object) -> Recipe:
    second = Stage(
        seed=1,
        num_points=6,
        budget=Budget(steps=steps),
        data=DataSettings(batch_size=8, context_sizes=UniformSizes(1)),
        optimiser=OptimiserSettings(averaging=0.9, learning_rate=1e-4),
    )
    return tiny_recipe(**{"stages": (Stage(budget=Budget(steps=steps)), second), "steps": steps, **changes})


def same(one: Model, other: Model) -> bool:
    return all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


@pytest.fixture(scope="module")
def whole() -> Model:
    """The model of an undisturbed training."""
    return train(staged())


def test_stages_are_runs_that_start_from_one_another(tmp_path: Path):
    first, second = staged().stage_recipes()
    assert (first, second.num_points, second.prior) == (tiny_recipe(steps=4), 6, first.prior)
    by_hand = train(second, start=train(first))
    model = train(staged(), RunOptions(folder=tmp_path / "run"))
    assert same(model, by_hand) and same(load_pfn(tmp_path / "run" / "model"), by_hand)
    origin = model.card.training["started_from"]
    assert (recipe_from(model.card.recipe), recipe_from(origin["recipe"])) == (second, first)
    assert model.card.trained_in_all("steps") == 8 and model.card.trained_context == (1, 5)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [".lock", "model", "stage-1", "stage-2"]


def test_stages_may_start_from_a_model(whole: Model):
    start = train(tiny_recipe(steps=2, seed=7))
    model = train(staged(), start=start)
    assert model.card.trained_in_all("steps") == 10 and not same(model, whole)


def test_a_recipe_in_toml_lays_its_stages_over_itself(tmp_path: Path):
    file = tmp_path / "tiny.toml"
    file.write_text(STAGED_TOML.format(steps=4, micro_batches=1))
    assert read_recipe(file) == staged()
    assert recipe_from(json.loads(json.dumps(staged().description()))) == staged()
    assert "stages" not in tiny_recipe().description()  # as before there were any


WHOLE = STAGED_TOML.format(steps=4, micro_batches=1)
WRONG = {
    "another network": (WHOLE + "network = {width = 32}\n", r"stages\[1\]: Stage has no field 'network'"),
    "another prior": (
        WHOLE + 'prior = {type = "BetaBernoulli"}\n',
        "a stage's prior must have the columns and the outcome",
    ),
    "a misspelt setting": (WHOLE.replace("batch_size = 8", "batchsize = 8"), r"stages\[1\]\.data.*'batch_size'"),
    "two budgets": (WHOLE.replace("{steps = 4}", "{steps = 4, minutes = 1.0}"), "exactly one positive value"),
    "no budget": (WHOLE.replace("budget = {steps = 4}", ""), "needs the field 'budget'"),
    "no points": (WHOLE.replace("num_points = 6", "num_points = 0"), "num_points must be at least 1; got 0"),
    "no stage": ("stages = []" + WHOLE[: WHOLE.index("[[stages]]")] + "[budget]\nsteps = 1\n", "needs at least one"),
    "a number": ("stages = 3" + WHOLE[: WHOLE.index("[[stages]]")] + "[budget]\nsteps = 1\n", "stages: expected"),
    "a list of numbers": ("stages = [3]" + WHOLE[: WHOLE.index("[[stages]]")] + "[budget]\nsteps = 1\n", "stages"),
    "a late stop": (WHOLE.replace("{steps = 4}", "{steps = 4, stop = 5}"), "stop is one of a budget's steps"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_stage_is_named(text: str, message: str, tmp_path: Path):
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(RecipeError, match=message):
        read_recipe(tmp_path / "wrong.toml")


def test_a_stage_that_stops_keeps_the_schedule_of_all_steps(tmp_path: Path):
    rows: dict[str, list[dict]] = {}
    for name, budget in {"whole": Budget(steps=8), "stopped": Budget(steps=8, stop=3)}.items():
        model = train(tiny_recipe(budget=budget), RunOptions(folder=tmp_path / name))
        rows[name] = [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
    assert model.card.training["steps"] == 3 and model.card.training["datasets"] == 12
    for stopped, whole in zip(rows["stopped"], rows["whole"][:3], strict=True):
        assert (stopped["loss"], stopped["learning_rate"]) == (whole["loss"], whole["learning_rate"])


class Death(Exception):
    pass


@pytest.mark.parametrize("deaths", [(0,), (3,), (4,), (6,), (2, 5), (3, 4, 7)], ids=str)
def test_a_training_that_dies_anywhere_resumes_to_the_bit(
    deaths: tuple[int, ...], whole: Model, tmp_path: Path, monkeypatch
):
    """Steps are counted over both stages: 4 is the first one of the second stage."""
    taken, take_step = [0], Trainer.take_step
    left = list(deaths)

    def dying(self: Trainer):
        if left and taken[0] >= left[0]:
            left.pop(0)
            raise Death
        taken[0] += 1
        return take_step(self)

    monkeypatch.setattr(Trainer, "take_step", dying)
    for attempt in range(len(deaths)):
        with pytest.raises(Death):
            train(staged(), RunOptions(folder=tmp_path, resume=attempt > 0, checkpoint_seconds=0))
    model = train(staged(), RunOptions(folder=tmp_path, resume=True))
    assert same(model, whole) and taken[0] == 8
    chain = (model.card.recipe, model.card.training["started_from"]["recipe"])
    assert chain == (whole.card.recipe, whole.card.training["started_from"]["recipe"])


def test_a_training_that_dies_behind_its_last_stage_only_has_to_be_resumed(tmp_path: Path, monkeypatch):
    save = Model.save

    def dying(self: Model, path: Path, dtype: torch.dtype | None = None) -> None:
        if Path(path) == tmp_path / "model":
            raise Death
        save(self, path, dtype)

    with monkeypatch.context() as patch, pytest.raises(Death):
        patch.setattr(Model, "save", dying)
        train(staged(), RunOptions(folder=tmp_path))
    monkeypatch.setattr(Trainer, "take_step", None)  # no step is taken again
    assert same(train(staged(), RunOptions(folder=tmp_path, resume=True)), load_pfn(tmp_path / "stage-2" / "model"))
    assert (tmp_path / "model" / "config.json").exists()


def test_a_training_is_not_resumed_with_another_recipe(tmp_path: Path):
    train(staged(), RunOptions(folder=tmp_path / "run"))
    resume = RunOptions(folder=tmp_path / "run", resume=True)
    with pytest.raises(TrainingError, match="stage 2 in .* was trained with another recipe"):
        train(staged(stages=(staged().stages[0], replace(staged().stages[1], seed=9))), resume)
    with pytest.raises(TrainingError, match="already holds a run"):
        train(staged(), RunOptions(folder=tmp_path / "run"))


def test_a_neural_process_is_trained_in_stages_too(tmp_path: Path):
    recipe = staged(network=NeuralProcessSettings(width=16, heads=2, layers=2))
    model = train(recipe, RunOptions(folder=tmp_path))
    assert same(train(recipe, RunOptions(folder=tmp_path, resume=True)), model)


class Recorder(Display):
    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def show(self, reading: Reading) -> None:
        self.readings.append(reading)


def test_the_display_says_which_stage_it_is(tmp_path: Path):
    recorder = Recorder()
    train(staged(steps=1), RunOptions(folder=tmp_path), recorder)
    assert [str(reading).split("  ")[0] for reading in recorder.readings] == ["stage 1/2", "stage 2/2"]
    assert "stage" not in json.loads((tmp_path / "stage-1" / "metrics.jsonl").read_text())


def test_a_training_killed_in_two_stages_resumes_to_the_bit(tmp_path: Path):
    file, folder = tmp_path / "tiny.toml", tmp_path / "run"
    file.write_text(STAGED_TOML.format(steps=40, micro_batches=1))
    command = ("train", file, "--folder", folder, "--checkpoint-seconds", "0")
    for stage, more in ((1, []), (2, ["--resume"])):
        metrics = folder / f"stage-{stage}" / "metrics.jsonl"
        with forked(COMMAND_LINE, *command, *more) as process:
            process.wait_for(lambda: metrics.exists() and len(metrics.read_text().splitlines()) >= 7)  # noqa: B023
            process.kill()
            assert process.poll() == -signal.SIGKILL
    done = run_forked(COMMAND_LINE, *command, "--resume")
    assert done.returncode == 0, done.stderr
    expected = train(read_recipe(file), RunOptions(folder=tmp_path / "whole"))
    assert same(load_pfn(folder / "model"), expected)
    for stage in ("stage-1", "stage-2"):
        rows = [(where / stage / "metrics.jsonl").read_text().splitlines() for where in (folder, tmp_path / "whole")]
        broken, whole = ([(row["step"], row["loss"]) for row in map(json.loads, lines)] for lines in rows)
        assert broken == whole and len(whole) == 40


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.timeout(600)  # on cores that may be busy
def test_two_processes_go_on_with_the_stage_that_one_has_left(tmp_path: Path, monkeypatch):
    file, folder = tmp_path / "tiny.toml", tmp_path / "run"
    file.write_text(STAGED_TOML.format(steps=3, micro_batches=2))
    recipe, take_step = read_recipe(file), Trainer.take_step
    expected = train(recipe)

    def dying(self: Trainer):
        if self.recipe.seed == 1 and self.step == 1:
            raise Death
        return take_step(self)

    with monkeypatch.context() as patch, pytest.raises(Death):
        patch.setattr(Trainer, "take_step", dying)
        train(recipe, RunOptions(folder=folder, checkpoint_seconds=0))
    places = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(2)]  # as torchrun tells its processes
    together = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    with ExitStack() as stack:
        command = ("train", file, "--folder", folder, "--resume")
        both = [stack.enter_context(forked(COMMAND_LINE, *command, **place, **together)) for place in places]
        assert [process.finish(500).returncode for process in both] == [0, 0], [process.said() for process in both]
    found = load_pfn(folder / "model")
    for name, value in expected.state_dict().items():
        torch.testing.assert_close(found.state_dict()[name], value, atol=2e-5, rtol=2e-4)
    assert found.card.training["processes"] == 2
