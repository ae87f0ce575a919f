import random

import numpy as np
import pytest
import torch

from priorfit.seeding import derived_seed, seeded


def draws():
    return float(torch.rand(())), float(np.random.rand()), random.random()


def test_a_seed_and_stream_repeat_all_three_generators():
    with seeded(3, 1, 4):
        first = draws()
    with seeded(3, 1, 4):
        assert draws() == first


def test_streams_of_a_seed_are_different():
    keys = [(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 1, 2), (0, 2, 1), (2**40, 7)]
    assert len({derived_seed(*key) for key in keys}) == len(keys)
    assert all(0 <= derived_seed(*key) < 2**63 for key in keys)


def test_the_generators_go_on_afterwards_as_if_nothing_had_happened():
    with seeded(0):
        undisturbed = draws()
    with seeded(0):
        with seeded(99):
            draws()
        assert draws() == undisturbed


def test_the_generators_are_put_back_after_an_error():
    with seeded(0):
        undisturbed = draws()
    with seeded(0):
        with pytest.raises(ZeroDivisionError), seeded(99):
            raise ZeroDivisionError
        assert draws() == undisturbed
