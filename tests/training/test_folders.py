"""Two trainings in one folder, folders of somebody else, devices and sizes that this machine has not."""

import json
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from forked import COMMAND_LINE, forked, run_forked
from tiny_recipes import TINY_NETWORK, TINY_TOML, tiny_recipe

import priorfit as pf
from priorfit.checkpoint import load_folder, save_folder
from priorfit.errors import CheckpointError, InputError, TrainingError
from priorfit.training import Budget, DataSettings, Interrupted, OptimiserSettings, RunOptions, train
from priorfit.training.devices import usable_device
from priorfit.training.memory import is_out_of_memory, readable_memory_errors
from priorfit.training.resume import RunFolder
from priorfit.training.trainer import Trainer


def has_begun(folder: Path) -> Callable[[], bool]:
    """Whether a training takes steps; a resumed one rewrites its metrics first, then each step makes them longer."""
    metrics, before, sizes = folder / "metrics.jsonl", time.time(), set[int]()

    def is_longer() -> bool:
        if metrics.exists() and metrics.stat().st_mtime >= before:
            sizes.add(metrics.stat().st_size)
        return len(sizes) >= 3

    return is_longer


def test_a_second_training_in_a_folder_is_refused_until_the_first_is_dead(tmp_path: Path):
    recipe, folder = tmp_path / "tiny.toml", tmp_path / "run"
    recipe.write_text(TINY_TOML.format(steps=100_000, micro_batches=1))
    command = ("train", recipe, "--folder", folder, "--checkpoint-seconds", "0")
    with forked(COMMAND_LINE, *command) as first:
        first.wait_for(has_begun(folder))
        second = run_forked(COMMAND_LINE, *command, "--resume")
        assert second.returncode == 1 and "another training is running in" in second.stderr, second.stderr
        assert "Traceback" not in second.stderr
        assert first.poll() is None  # and the first did not notice
        first.kill()
        assert first.poll() == -signal.SIGKILL
    assert (folder / ".lock").exists()
    with forked(COMMAND_LINE, *command, "--resume") as third:  # the dead one keeps nobody out
        third.wait_for(has_begun(folder))
        third.send_signal(signal.SIGINT)
        done = third.finish()
    assert "go on with --resume" in done.stderr and done.returncode == 130


def test_two_threads_do_not_train_in_one_folder_either(tmp_path: Path, monkeypatch):
    inside, leave = threading.Event(), threading.Event()
    take_step = Trainer.take_step

    def waiting(self: Trainer):
        inside.set()
        assert leave.wait(60)
        return take_step(self)

    monkeypatch.setattr(Trainer, "take_step", waiting)
    options = RunOptions(folder=tmp_path / "run")
    first = threading.Thread(target=lambda: train(tiny_recipe(steps=1), options))
    first.start()
    assert inside.wait(60)
    with pytest.raises(TrainingError, match="another training is running"):
        train(tiny_recipe(steps=1), RunOptions(folder=tmp_path / "run", resume=True))
    leave.set()
    first.join()
    assert (tmp_path / "run" / "model" / "config.json").exists()


def test_a_failed_training_gives_its_folder_back(tmp_path: Path, monkeypatch):
    def failing(self: Trainer):
        raise ZeroDivisionError

    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Trainer, "take_step", failing)
        train(tiny_recipe(), RunOptions(folder=tmp_path / "run"))
    train(tiny_recipe(), RunOptions(folder=tmp_path / "run", resume=True))


def test_fit_twice_speaks_of_its_own_arguments_and_can_go_on(tmp_path: Path, monkeypatch):
    call = {"num_points": 6, "steps": 3, "network": TINY_NETWORK, "progress": False}
    whole = pf.fit(pf.GaussianProcess(), **call)
    take_step = Trainer.take_step

    def dying(self: Trainer):
        if self.step == 2:
            raise ZeroDivisionError
        return take_step(self)

    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Trainer, "take_step", dying)
        pf.fit(pf.GaussianProcess(), **call, folder=tmp_path / "run")
    with pytest.raises(TrainingError, match="already holds a run") as refused:
        pf.fit(pf.GaussianProcess(), **call, folder=tmp_path / "run")
    assert "resume=True" in str(refused.value) and "--" not in str(refused.value)
    resumed = pf.fit(pf.GaussianProcess(), **call, folder=str(tmp_path / "run"), resume=True)
    assert all(torch.equal(value, resumed.state_dict()[name]) for name, value in whole.state_dict().items())


def test_a_resume_without_a_folder_or_a_run_is_explained(tmp_path: Path):
    with pytest.raises(TrainingError, match="resumed from its folder; none was given"):
        pf.fit(pf.GaussianProcess(), steps=1, resume=True)
    with pytest.raises(TrainingError, match="no run in .*nowhere to go on with"):
        pf.fit(pf.GaussianProcess(), steps=1, folder=tmp_path / "nowhere", resume=True)
    with pytest.raises(TrainingError, match="no run in .* to go on with"):
        pf.fit(pf.GaussianProcess(), steps=1, folder=tmp_path, resume=True)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "model").mkdir()
    with pytest.raises(CheckpointError, match="No checkpoint"):
        pf.fit(pf.GaussianProcess(), steps=1, folder=tmp_path, resume=True)


def test_a_folder_of_somebody_else_is_refused_and_stays_as_it_is(tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("text")
    with pytest.raises(CheckpointError, match=r"holds thesis\.tex, so it is no folder of a run; nothing .* touched"):
        pf.fit(pf.GaussianProcess(), steps=1, folder=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(CheckpointError, match="is a file; a run is a folder"):
        pf.fit(pf.GaussianProcess(), steps=1, folder=tmp_path / "thesis.tex")
    model = pf.PFN(TINY_NETWORK, pf.network.Problem(1, pf.Real(), (0.0, 1.0)))
    model.save(tmp_path / "model")
    with pytest.raises(CheckpointError, match=r"holds config\.json"):
        pf.fit(pf.GaussianProcess(), steps=1, folder=tmp_path / "model")


def test_a_folder_with_what_a_killed_save_left_can_be_used(tmp_path: Path):
    (tmp_path / ".checkpoint.priorfit-new").mkdir()
    (tmp_path / ".lock").touch()
    train(tiny_recipe(steps=1), RunOptions(folder=tmp_path))


@pytest.mark.parametrize("name", ["cuda", "cuda:99", "nonsense", "meta", "", "cpu:x"])
def test_a_device_that_cannot_be_used_is_named(name: str):
    if name == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(InputError, match=rf"device '{name}' cannot be used here: .* This machine has: cpu"):
        pf.fit(pf.GaussianProcess(), steps=1, device=name, progress=False)
    assert usable_device("cpu").type == "cpu"


HUGE = {
    "width": ({"network": pf.NetworkSettings(width=10**6, attention_heads=2)}, "network is too large for the .* GB"),
    "layers": ({"network": pf.NetworkSettings(layers=10**5)}, "too large|batch of this recipe"),
    "head": ({"network": pf.NetworkSettings(output=pf.NormalMixtureHead(10**10))}, "network is too large"),
    "points": (
        {"num_points": 10**7, "data": DataSettings(batch_size=10**4)},
        r"at least .* GB, and this machine has .* num_points \(10,000,000\)",
    ),
    "batch": ({"data": DataSettings(batch_size=10**12)}, r"Lower num_points .* data\.batch_size"),
}


@pytest.mark.parametrize(("changes", "message"), HUGE.values(), ids=HUGE.keys())
def test_a_recipe_beyond_this_machine_is_refused_before_anything_is_allocated(
    changes, message, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr("priorfit.training.memory.memory", lambda: 2e9)  # layers are counted until it is full
    started = time.process_time()
    with pytest.raises(TrainingError, match=message):
        train(tiny_recipe(**changes), RunOptions(folder=tmp_path / "run"))
    assert time.process_time() - started < 20
    assert not (tmp_path / "run" / "model").exists()


def test_memory_that_runs_out_on_the_way_is_explained():
    with pytest.raises(TrainingError, match=r"out of memory .* Lower num_points"), readable_memory_errors():
        torch.empty(2**60)
    with pytest.raises(RuntimeError, match="something else"), readable_memory_errors():
        raise RuntimeError("something else")
    assert is_out_of_memory(MemoryError())


@pf.prior(num_features=1)
def outliers(x: torch.Tensor) -> torch.Tensor:
    """A tenth of the targets are so large that their squares overflow."""
    return torch.randn(x.shape[:2]) * torch.where(torch.rand(x.shape[:2]) < 0.1, 1e25, 1.0)


@pytest.mark.parametrize("budget", [Budget(steps=1), Budget(steps=4), Budget(steps=50), Budget(minutes=0.01)], ids=str)
@pytest.mark.parametrize("head", [pf.NormalHead(), pf.NormalMixtureHead(3)])
def test_a_training_that_learned_nothing_fails_and_writes_no_model(head, budget: Budget, tmp_path: Path):
    network = pf.NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16, output=head)
    recipe = tiny_recipe(prior=outliers, budget=budget, network=network, data=DataSettings(batch_size=16))
    with pytest.raises(TrainingError, match=r"learned nothing.*the loss was.*check_prior.*learning_rate"):
        train(recipe, RunOptions(folder=tmp_path / "run"))
    assert not (tmp_path / "run" / "model").exists()


def test_a_training_that_explodes_fails():
    with pytest.raises(TrainingError, match=r"learned nothing.*not finite in"):
        train(tiny_recipe(steps=30, optimiser=OptimiserSettings(learning_rate=1e30)))


def test_a_loss_that_is_infinite_now_and_then_is_no_failure(monkeypatch):
    backward = Trainer.backward

    def sometimes(self: Trainer, step: int) -> float:
        loss = backward(self, step)
        return float("inf") if step % 3 == 0 else loss

    monkeypatch.setattr(Trainer, "backward", sometimes)
    assert train(tiny_recipe(steps=9)).card.training["steps"] == 9


def test_a_resumed_run_remembers_its_fruitless_steps(tmp_path: Path, monkeypatch):
    backward = Trainer.backward

    def infinite_loss(self: Trainer, step: int) -> float:
        if step == 15:
            raise Interrupted
        backward(self, step)
        return float("inf")

    monkeypatch.setattr(Trainer, "backward", infinite_loss)
    with pytest.raises(Interrupted):
        train(tiny_recipe(steps=60), RunOptions(folder=tmp_path, checkpoint_seconds=0))
    assert RunFolder(tmp_path).load().fruitless == 15
    monkeypatch.setattr(Trainer, "backward", lambda self, step: backward(self, step) * float("inf"))
    with pytest.raises(TrainingError, match="not finite in 20 steps in a row, up to step 19"):
        train(tiny_recipe(steps=60), RunOptions(folder=tmp_path, resume=True))


def edit_progress(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "checkpoint" / "config.json").read_text())
    config["progress"] |= changes
    (folder / "checkpoint" / "config.json").write_text(json.dumps(config))


DAMAGES = {
    "a word for a step": {"step": "three"},
    "half a step": {"step": 1.5},
    "more steps than there are": {"step": 99},
    "a negative step": {"step": -1},
    "an unknown number": {"epoch": 3},
    "endless seconds": {"seconds": float("inf")},
}


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("changes", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_checkpoint_of_a_run_is_not_resumed(changes: dict[str, object], tmp_path: Path):
    train(tiny_recipe(steps=1), RunOptions(folder=tmp_path))
    edit_progress(tmp_path, **changes)
    with pytest.raises(CheckpointError):
        train(tiny_recipe(steps=1), RunOptions(folder=tmp_path, resume=True))


def test_a_checkpoint_of_a_model_or_of_another_network_is_not_resumed(tmp_path: Path):
    train(tiny_recipe(steps=1), RunOptions(folder=tmp_path))
    groups, config = load_folder(tmp_path / "checkpoint", ("model", "optimiser", "averaged"))
    groups["model"]["decoder.bias"] = torch.zeros(1)
    save_folder(tmp_path / "checkpoint", groups, config)
    with pytest.raises(CheckpointError, match="does not fit its recipe"):
        train(tiny_recipe(steps=1), RunOptions(folder=tmp_path, resume=True))
    save_folder(tmp_path / "checkpoint", groups, {})
    with pytest.raises(CheckpointError, match="is no checkpoint of a run"):
        train(tiny_recipe(steps=1), RunOptions(folder=tmp_path, resume=True))
