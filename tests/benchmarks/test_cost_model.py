from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import distributed

from priorfit.training.devices import Processes
from priorfit.training.trainer import Trainer


@pytest.fixture
def cost_model() -> ModuleType:
    from benchmarks.speed import cost_model  # pyright: ignore[reportMissingImports]

    return cost_model


@pytest.fixture
def sizes(cost_model: ModuleType):
    return cost_model.Sizes(num_points=40, batch_size=8, width=32, layers=3, heads=2, feedforward=64, buckets=20)


@pytest.fixture
def one_process_group(tmp_path: Path) -> Iterator[None]:
    distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def trainer_of(cost_model: ModuleType, sizes, micro_batches: int, group: Processes | None = None) -> Trainer:
    recipe = cost_model.recipe_of(sizes, "muon", seed=0)
    recipe = replace(recipe, data=replace(recipe.data, micro_batches=micro_batches))
    return Trainer(cost_model.network_of(recipe), recipe, steps=10, group=group)


def test_the_state_of_training_takes_the_memory_of_the_model(cost_model: ModuleType, sizes) -> None:
    trainer = trainer_of(cost_model, sizes, micro_batches=1)
    trainer.take_step()
    weights = list(trainer.network.parameters())
    assert sum(weight.numel() for weight in weights) == cost_model.num_weights(sizes)
    kept = [*weights, *(weight.grad for weight in weights), *trainer.averaged.values()]
    kept += [value for value in trainer.optimisers.tensors().values() if value.ndim]
    assert sum(value.numel() * 4 for value in kept) == cost_model.state_bytes(sizes, "muon")


def test_the_backward_pass_keeps_the_memory_of_the_model(cost_model: ModuleType, sizes) -> None:
    trainer = trainer_of(cost_model, sizes, micro_batches=1)
    batch = trainer.source(0, 0)
    weights = {weight.untyped_storage().data_ptr() for weight in trainer.network.parameters()}
    kept: dict[int, int] = {}
    held = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        held.append(tensor)  # so that no storage is used twice
        if tensor.untyped_storage().data_ptr() not in weights:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    tokens = trainer.network.get_submodule("input_encoder")(torch.cat([batch.context_x, batch.query_x], dim=1)).detach()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        trainer.network.get_submodule("transformer")(tokens, batch.context_x.shape[1])
    assert sum(kept.values()) == pytest.approx(cost_model.activation_bytes(sizes), rel=0.1)


@pytest.mark.usefixtures("one_process_group")
def test_gradients_travel_once_a_step_whatever_the_micro_batches(cost_model: ModuleType, sizes) -> None:
    trainer = trainer_of(cost_model, sizes, micro_batches=6, group=Processes(rank=0, count=2))
    sent = []

    def count(state: object, bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        sent.append(bucket.buffer().numel() * bucket.buffer().element_size())
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future

    trainer.step_loss._module.register_comm_hook(None, count)
    trainer.take_step()
    assert sum(sent) == cost_model.traffic_bytes(sizes, count=2), "of two in a ring, each sends all gradients once"
    assert cost_model.traffic_bytes(sizes, count=1) == 0


def test_eight_processes_take_a_little_more_than_an_eighth_of_the_time(cost_model: ModuleType) -> None:
    one, eight = (cost_model.paper_row(cost_model.LARGE[0], cost_model.A100, count) for count in (1, 8))
    assert 1 / 8 < eight["hours"] / one["hours"] < 1 / 7
