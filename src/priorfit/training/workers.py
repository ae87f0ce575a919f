"""The data of a step, drawn in this process or ahead of time in others."""

import pickle
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from multiprocessing import get_context
from typing import TYPE_CHECKING

import torch

from priorfit.data import Batch
from priorfit.errors import InputError
from priorfit.training.batches import draw_batch
from priorfit.training.recipe import Recipe

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Source = Callable[[int, int], Batch]
"""From a step and a micro-batch to its batch."""

AHEAD = 2
"""How many batches each worker draws before they are needed."""


@contextmanager
def batch_source(recipe: Recipe, workers: int, first_step: int, micro_batches: range) -> Iterator[Source]:
    """Draws the batches of a run, which takes them in order; ``workers=0`` draws each when it is needed.

    A batch follows from the seed, the step and the micro-batch, so it does not matter who draws it. A prior that
    cannot be sent to another process is drawn in this one.
    """
    if workers < 0:
        raise InputError(f"workers must be at least 0; got {workers}.")
    if workers == 0 or not is_sendable(recipe):
        yield lambda step, micro_batch: draw_batch(recipe, step, micro_batch)
        return
    from concurrent.futures import ProcessPoolExecutor  # late: few runs need it, and its import takes a while

    spawn = get_context("spawn")  # a fork of a process with OpenMP threads may hang
    with ProcessPoolExecutor(workers, spawn, initializer=prepare_worker, initargs=(recipe,)) as pool:
        source = Ahead(pool, AHEAD * workers, ((step, j) for step in count(first_step) for j in micro_batches))
        try:
            yield source
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def is_sendable(recipe: Recipe) -> bool:
    """Whether a recipe can be pickled; a prior whose function has no name in a module cannot."""
    try:
        pickle.dumps(recipe)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        warnings.warn(
            f"this prior cannot be sent to background workers ({error}), so the main process draws it.", stacklevel=4
        )
        return False
    return True


class Ahead:
    """Batches that a pool of workers draws in advance, a few at a time."""

    def __init__(self, pool: "ProcessPoolExecutor", depth: int, jobs: Iterator[tuple[int, int]]) -> None:
        self._pool, self._jobs = pool, jobs
        self._drawn: deque[tuple[tuple[int, int], "Future[Batch]"]] = deque()
        for _ in range(depth):
            self._ask()

    def _ask(self) -> None:
        job = next(self._jobs)
        self._drawn.append((job, self._pool.submit(draw_job, *job)))

    def __call__(self, step: int, micro_batch: int) -> Batch:
        """The next batch; batches must be requested in order."""
        job, batch = self._drawn.popleft()
        assert job == (step, micro_batch), f"expected {job}, was asked for {(step, micro_batch)}"
        self._ask()
        return batch.result()


_recipes: list[Recipe] = []  # in a worker: the recipe that it draws from


def prepare_worker(recipe: Recipe) -> None:
    """Initialise a worker: it uses one thread, and leaves Ctrl-C to the process that started it."""
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _recipes[:] = [recipe]


def draw_job(step: int, micro_batch: int) -> Batch:
    """Draw a batch in a worker."""
    return draw_batch(_recipes[0], step, micro_batch)
