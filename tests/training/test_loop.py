import json
import os
import signal
import subprocess
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import torch
from forked import COMMAND_LINE, Forked, forked
from tiny_recipes import TINY_TOML, tiny_recipe

import priorfit as pf
from priorfit.errors import PriorError, TrainingError
from priorfit.network import load_pfn
from priorfit.training import Budget, DataSettings, Interrupted, OptimiserSettings, RunOptions, read_recipe, train
from priorfit.training.batches import draw_batch, loss_divisor
from priorfit.training.devices import Processes
from priorfit.training.networks import start_network
from priorfit.training.progress import Display, Reading
from priorfit.training.trainer import Trainer


def weights(path: Path) -> bytes:
    return (path / "model" / "model.safetensors").read_bytes()


def metrics(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]


def training(*arguments: object, checkpoint_seconds: int = 0) -> AbstractContextManager[Forked]:
    """``priorfit train`` in a process of its own."""
    return forked(COMMAND_LINE, "train", *arguments, "--checkpoint-seconds", checkpoint_seconds)


@pytest.fixture
def recipe_file(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.toml"
    file.write_text(TINY_TOML.format(steps=40, micro_batches=1))
    return file


def has_taken(steps: int, folder: Path) -> bool:
    file = folder / "metrics.jsonl"
    return file.exists() and len(file.read_text().splitlines()) >= steps


def test_a_killed_run_resumes_to_the_bit(recipe_file: Path, tmp_path: Path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(read_recipe(recipe_file), RunOptions(folder=whole))
    with training(recipe_file, "--folder", broken) as process:
        process.wait_for(lambda: has_taken(7, broken))
        process.kill()
        assert process.poll() == -signal.SIGKILL
    with training(recipe_file, "--folder", broken, "--resume") as process:
        assert process.finish().returncode == 0, process.said()
    assert weights(broken) == weights(whole)
    assert [row["loss"] for row in metrics(broken)] == [row["loss"] for row in metrics(whole)]
    assert [row["step"] for row in metrics(broken)] == list(range(1, 41))


def test_ctrl_c_saves_and_says_how_to_go_on(recipe_file: Path, tmp_path: Path):
    folder = tmp_path / "run"
    recipe_file.write_text(TINY_TOML.format(steps=100_000, micro_batches=1))
    with training(recipe_file, "--folder", folder, checkpoint_seconds=1000) as process:
        process.wait_for(lambda: has_taken(5, folder))
        process.send_signal(signal.SIGINT)
        done = process.finish()
    assert done.returncode == 130
    assert "stopped after step" in done.stderr and "--resume" in done.stderr and "Traceback" not in done.stderr
    assert (folder / "checkpoint" / "config.json").exists()


@pytest.mark.timeout(600)  # two more imports of torch, on cores that may be busy
def test_two_processes_train_as_one_does(tmp_path: Path):
    file = tmp_path / "tiny.toml"
    file.write_text(TINY_TOML.format(steps=6, micro_batches=4))
    one, two = tmp_path / "one", tmp_path / "two"
    train(read_recipe(file), RunOptions(folder=one))
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "priorfit",
    ]
    command = [*launcher, "train", str(file), "--folder", str(two)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
    expected, got = load_pfn(one / "model").state_dict(), load_pfn(two / "model").state_dict()
    assert expected.keys() == got.keys()
    for name in expected:
        torch.testing.assert_close(got[name], expected[name], atol=2e-5, rtol=2e-4)
    assert [row["step"] for row in metrics(two)] == list(range(1, 7))  # one process writes


def test_several_micro_batches_give_the_mean_of_their_gradients():
    recipe = tiny_recipe(micro_batches=3)
    network = start_network(recipe, None)
    Trainer(network, recipe, 8).backward(step=5)
    together = network.decoder.bias.grad.clone()
    network.zero_grad()
    for micro_batch in range(3):
        (network.loss(draw_batch(recipe, 5, micro_batch)).sum() / loss_divisor(recipe) / 3).backward()
    torch.testing.assert_close(together, network.decoder.bias.grad)


def test_each_process_draws_its_share_of_the_micro_batches():
    shares = [list(Processes(rank, 3).micro_batches(6)) for rank in range(3)]
    assert shares == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(TrainingError, match="multiple of the number of processes; got 4 micro-batches for 3"):
        Trainer(start_network(tiny_recipe(), None), tiny_recipe(micro_batches=4), 8, Processes(0, 3))


def test_a_gradient_that_is_not_finite_is_skipped_then_stops_the_run():
    recipe = tiny_recipe(steps=60)
    network = start_network(recipe, None)
    trainer = Trainer(network, recipe, 60)
    with torch.no_grad():
        network.decoder.bias.fill_(torch.nan)
    before = network.target_encoder.linear.weight.clone()
    assert trainer.take_step().is_skipped and trainer.skipped == 1
    assert torch.equal(network.target_encoder.linear.weight, before)
    with pytest.raises(TrainingError, match="not finite in 20 steps in a row"):
        for _ in range(60):
            trainer.take_step()


class Recorder(Display):
    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def announce(self, words: str) -> None:
        """Nothing that these tests look at."""

    def show(self, reading: Reading) -> None:
        self.readings.append(reading)


def test_training_lowers_the_gap_and_reports_it():
    recorder = Recorder()
    train(tiny_recipe(steps=150, data=DataSettings(batch_size=16)), display=recorder)
    assert [reading.step for reading in recorder.readings] == list(range(1, 151))
    first, last = recorder.readings[10], recorder.readings[-1]
    assert last.gap < 0.8 * first.gap
    assert last.learning_rate < 1e-5 and last.skipped == 0


def test_the_same_seed_gives_the_same_weights_and_another_seed_does_not():
    one, same, other = (train(tiny_recipe(seed=seed)).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["decoder.weight"], other["decoder.weight"])


def test_a_budget_in_datasets_or_minutes_becomes_steps():
    assert train(tiny_recipe(budget=Budget(datasets=30))).card.training["steps"] == 8
    started = time.perf_counter()
    model = train(tiny_recipe(budget=Budget(minutes=0.02)))
    assert model.card.training["steps"] >= 2
    assert time.perf_counter() - started < 20


def test_weight_averaging_is_the_exponential_mean_of_the_weights():
    recipe = tiny_recipe(optimiser=OptimiserSettings(averaging=0.9))
    trainer = Trainer(start_network(recipe, None), recipe, 8)
    mean = trainer.network.decoder.bias.detach().clone()
    for step in range(8):
        trainer.take_step()
        decay = min(0.9, (1 + step) / (10 + step))
        mean = decay * mean + (1 - decay) * trainer.network.decoder.bias.detach()
    torch.testing.assert_close(trainer.result()["decoder.bias"], mean)


def test_training_can_start_from_a_models_weights():
    first = train(tiny_recipe(steps=3))
    model = train(tiny_recipe(steps=1, optimiser=OptimiserSettings(learning_rate=1e-12)), start=first)
    assert model.card.training["started_from"]["training"] == first.card.training
    for name, value in first.state_dict().items():
        torch.testing.assert_close(model.state_dict()[name], value, atol=1e-6, rtol=1e-6)
    with pytest.raises(TrainingError, match="same network settings and problem"):
        train(tiny_recipe(num_points=9, prior=tiny_recipe().prior.__class__(num_features=2)), start=first)


def test_a_run_is_not_overwritten_nor_resumed_with_another_recipe(tmp_path: Path):
    options = RunOptions(folder=tmp_path / "run")
    train(tiny_recipe(steps=2), options)
    with pytest.raises(TrainingError, match="already holds a run"):
        train(tiny_recipe(steps=2), options)
    with pytest.raises(TrainingError, match="another recipe"):
        train(tiny_recipe(steps=3), RunOptions(folder=tmp_path / "run", resume=True))


def test_a_run_that_dies_before_its_first_checkpoint_resumes_to_the_bit(tmp_path: Path, monkeypatch):
    class Death(Exception):
        pass

    def dying(self: Trainer):
        if self.step == 3:
            raise Death
        return take_step(self)

    take_step = Trainer.take_step
    with monkeypatch.context() as patch, pytest.raises(Death):
        patch.setattr(Trainer, "take_step", dying)
        train(tiny_recipe(), RunOptions(folder=tmp_path / "run"))
    assert len(metrics(tmp_path / "run")) == 3
    resumed = train(tiny_recipe(), RunOptions(folder=tmp_path / "run", resume=True)).state_dict()
    assert all(torch.equal(resumed[name], value) for name, value in train(tiny_recipe()).state_dict().items())
    assert [row["step"] for row in metrics(tmp_path / "run")] == list(range(1, 9))


def test_a_refused_resume_keeps_the_metrics(tmp_path: Path):
    folder = tmp_path / "run"
    train(tiny_recipe(steps=2), RunOptions(folder=folder))
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3}\n')
    with pytest.raises(TrainingError, match="another recipe"):
        train(tiny_recipe(steps=3), RunOptions(folder=folder, resume=True))
    assert len(metrics(folder)) == 3


def test_expected_targets_of_a_prior_without_them_are_refused():
    @pf.prior(num_features=1)
    def noise(x):
        return torch.randn(x.shape[:2])

    with pytest.raises(PriorError, match='Use targets="sampled"'):
        train(tiny_recipe(prior=noise, data=DataSettings(batch_size=4, targets="expected")))


def test_an_interrupted_run_is_a_keyboard_interrupt():
    assert issubclass(Interrupted, KeyboardInterrupt)
