"""The only place that seeds: ``with seeded(seed, *stream):``."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def derived_seed(seed: int, *stream: int) -> int:
    """One 63-bit seed for a stream of a seed: (0, 1, 2) and (0, 2, 1) have nothing in common.

    >>> derived_seed(0, 1, 2) == derived_seed(0, 1, 2), derived_seed(0, 1, 2) == derived_seed(0, 2, 1)
    (True, False)
    """
    # as entropy, (seed, 0) would be padded to the same words as (seed,); a spawn key is told apart
    return int(np.random.SeedSequence(seed, spawn_key=stream).generate_state(1, np.uint64)[0] >> 1)


@contextmanager
def seeded(seed: int, *stream: int) -> Iterator[None]:
    """Run a block with the generators of torch, numpy and Python seeded, then put them back as they were.

    numpy and Python are included because a simulator that serves as a prior often draws from them.

    >>> with seeded(0, 7):
    ...     a = torch.rand(2)
    >>> with seeded(0, 7):
    ...     b = torch.rand(2)
    >>> bool((a == b).all())
    True
    """
    value = derived_seed(seed, *stream)
    numpy_state, python_state = np.random.get_state(), random.getstate()
    with torch.random.fork_rng():
        torch.manual_seed(value)
        np.random.seed(value % 2**32)
        random.seed(value)
        try:
            yield
        finally:
            np.random.set_state(numpy_state)
            random.setstate(python_state)
