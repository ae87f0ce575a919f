"""One process or several: what torchrun says, and the network as each process runs it."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, distributed, nn

from priorfit.data import Batch
from priorfit.errors import InputError
from priorfit.network import Model


@dataclass(frozen=True)
class Processes:
    """The rank of this process and the number of processes."""

    rank: int = 0
    count: int = 1
    local_rank: int = 0

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and shows progress."""
        return self.rank == 0

    def micro_batches(self, total: int) -> range:
        """The micro-batches of a step that this process draws: j = rank mod count."""
        return range(self.rank, total, self.count)

    def same_everywhere(self, value: int) -> int:
        """Broadcast the value of the first process to every process."""
        if self.count == 1:
            return value
        box = [value]
        distributed.broadcast_object_list(box, src=0)
        return box[0]

    def any_of(self, is_so: bool) -> bool:
        """Whether the value is true in any process; all processes must call this together."""
        if self.count == 1:
            return is_so
        answer = torch.tensor(int(is_so), device="cuda" if distributed.get_backend() == "nccl" else "cpu")
        distributed.all_reduce(answer, distributed.ReduceOp.MAX)
        return bool(answer)


@contextmanager
def processes() -> Iterator[Processes]:
    """The processes of this run: those of torchrun where it started us, else one."""
    if "WORLD_SIZE" not in os.environ or int(os.environ["WORLD_SIZE"]) == 1:
        yield Processes()
        return
    distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        yield Processes(distributed.get_rank(), distributed.get_world_size(), local_rank)
    finally:
        distributed.destroy_process_group()


def training_device(requested: str | None, group: Processes) -> torch.device:
    """The device asked for, else a GPU where there is one, else the CPU."""
    if requested is not None:
        return usable_device(requested)
    return torch.device("cuda", group.local_rank) if torch.cuda.is_available() else torch.device("cpu")


def usable_device(name: str) -> torch.device:
    """A device by its name, if this machine has it and it can hold numbers.

    >>> usable_device("cpu")
    device(type='cpu')
    """
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        raise InputError(
            f"the device {name!r} cannot be used here: {str(error).splitlines()[0]} "
            f"This machine has: {', '.join(device_names())}."
        ) from error
    return device


def device_names() -> list[str]:
    """The devices of this machine."""
    return ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]


class BatchLoss(nn.Module):
    """A network's loss as a module's forward pass: the form in which DistributedDataParallel sees it."""

    def __init__(self, network: Model, divisor: float, precision: str) -> None:
        super().__init__()
        self.network, self.divisor, self.precision = network, divisor, precision

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The sum over datasets and queries, divided by a constant."""
        if self.precision == "float32":
            return self.network.loss(batch).sum() / self.divisor
        with torch.autocast(batch.query_x.device.type, dtype=torch.bfloat16):
            return self.network.loss(batch).sum() / self.divisor


class StepLoss:
    """The loss of a step's micro-batches, averaged over all processes."""

    def __init__(self, network: Model, divisor: float, group: Processes, precision: str = "float32") -> None:
        # DistributedDataParallel averages over processes, and each of them sees 1 / count of the micro-batches.
        module = BatchLoss(network, divisor / group.count, precision)
        self._module = module if group.count == 1 else parallel(module)
        self._count = group.count

    def __call__(self, batch: Batch) -> Float[Tensor, ""]:
        """The part of the loss that one micro-batch contributes."""
        return self._module(batch)

    def unsynchronised(self, wait: bool) -> AbstractContextManager[object]:
        """A context for all but the last micro-batch of a process, so that gradients are exchanged once a step."""
        return self._module.no_sync() if wait and self._count > 1 else nullcontext()  # pyright: ignore[reportCallIssue]


def parallel(module: nn.Module) -> nn.Module:
    """The module as one of several processes runs it."""
    from torch.nn.parallel import DistributedDataParallel  # late: its import takes as long as all of ours

    return DistributedDataParallel(module)
