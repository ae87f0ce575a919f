"""The only file that seeds random generators: ``with seeded(seed, *stream):``."""

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from priorfit.errors import InputError


class _Turns:
    """A lock for seeding: the generators belong to the whole process, so one thread at a time may seed them.

    A thread that has its turn may seed again inside. A child of ``os.fork`` starts anew, since the thread whose turn
    it was does not live on in it.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        if os.name == "posix":  # no other system can fork
            os.register_at_fork(after_in_child=self._start_anew)

    def _start_anew(self) -> None:
        self.lock = threading.RLock()


_turns = _Turns()


def derived_seed(seed: int, *stream: int) -> int:
    """One 63-bit seed for a stream of a seed: (0, 1, 2) and (0, 2, 1) have nothing in common.

    >>> derived_seed(0, 1, 2) == derived_seed(0, 1, 2), derived_seed(0, 1, 2) == derived_seed(0, 2, 1)
    (True, False)
    """
    if not all(isinstance(number, int | np.integer) and number >= 0 for number in (seed, *stream)):
        raise InputError(f"a seed and its stream are whole numbers of at least 0; got {(seed, *stream)}.")
    # as entropy, (seed, 0) would be padded to the same words as (seed,); a spawn key is kept apart
    return int(np.random.SeedSequence(seed, spawn_key=stream).generate_state(1, np.uint64)[0] >> 1)


def _seed_torch(value: int) -> None:
    """Seed the generators of torch: those of all devices, or of the processor alone where there is no other device.

    Without one, `torch.manual_seed` would write down the whole stack for each kind of device, in case one is used
    later. That takes longer than the rest of a block, and a training has several blocks a step.
    """
    if torch.accelerator.is_available():
        torch.manual_seed(value)
    else:
        torch.default_generator.manual_seed(value)


@contextmanager
def seeded(seed: int, *stream: int) -> Iterator[None]:
    """Run a block with the generators of torch, numpy and Python seeded, then put them back as they were.

    numpy and Python are included because a simulator that serves as a prior often draws from them. Threads take turns:
    a block waits until no other thread is inside of one, so a block must not wait for a thread that seeds. Whoever
    draws in another thread without ``seeded`` still disturbs the block, as the generators are shared.

    >>> with seeded(0, 7):
    ...     a = torch.rand(2)
    >>> with seeded(0, 7):
    ...     b = torch.rand(2)
    >>> bool((a == b).all())
    True
    """
    value = derived_seed(seed, *stream)
    with _turns.lock:
        numpy_state, python_state = np.random.get_state(), random.getstate()
        with torch.random.fork_rng():
            _seed_torch(value)
            np.random.seed(value % 2**32)
            random.seed(value)
            try:
                yield
            finally:
                np.random.set_state(numpy_state)
                random.setstate(python_state)
