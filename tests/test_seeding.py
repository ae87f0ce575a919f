import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from priorfit.errors import InputError
from priorfit.seeding import derived_seed, seeded


def draws():
    return float(torch.rand(())), float(np.random.rand()), random.random()


def test_a_seed_and_stream_repeat_all_three_generators():
    with seeded(3, 1, 4):
        first = draws()
    with seeded(3, 1, 4):
        assert draws() == first


def test_torch_draws_what_its_own_seed_gives():
    with seeded(3, 1, 4):
        drawn = torch.rand(5)
    with torch.random.fork_rng():
        torch.manual_seed(derived_seed(3, 1, 4))
        assert torch.equal(torch.rand(5), drawn)


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


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("key", [(1.5,), (-1,), ("0",), (0, 2.0), (None,)])
def test_a_seed_that_is_no_whole_number_is_refused(key):
    with pytest.raises(InputError, match="whole numbers of at least 0; got"), seeded(*key):
        pass


def slow_draws(key: int) -> tuple[float, ...]:
    """Draws with pauses, in which other threads get their chance to disturb."""
    with seeded(0, key):
        found: tuple[float, ...] = ()
        for _ in range(3):
            found += draws()
            time.sleep(0.001)
        with seeded(0, key, 1):
            found += draws()
        return found + draws()


def test_threads_that_seed_at_once_draw_what_each_would_alone():
    alone = [slow_draws(key) for key in range(40)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(slow_draws, range(40), timeout=60)) == alone


def test_an_error_in_one_thread_gives_the_turn_to_the_next():
    def fail(key: int) -> None:
        with seeded(key):
            raise ZeroDivisionError

    expected = slow_draws(7)
    with ThreadPoolExecutor(4) as pool:
        failures = [pool.submit(fail, key) for key in range(8)]
        assert pool.submit(slow_draws, 7).result(timeout=30) == expected
        assert all(isinstance(failure.exception(), ZeroDivisionError) for failure in failures)


@pytest.mark.skipif(os.name != "posix", reason="only POSIX forks")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent():
    inside, leave = threading.Event(), threading.Event()

    def stay_inside() -> None:
        with seeded(1):
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=stay_inside)
    thread.start()
    assert inside.wait(30)
    child = os.fork()
    if child == 0:  # no pytest in here
        signal.alarm(20)
        with seeded(2):
            os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    leave.set()
    thread.join()
    assert status == 0


def test_a_generator_that_is_given_up_gives_its_turn_back():
    def numbers():
        with seeded(5):
            while True:
                yield draws()

    stream = numbers()
    first = next(stream)
    assert next(stream) != first
    stream.close()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(slow_draws, 3).result(timeout=30) == slow_draws(3)
