from collections.abc import Callable, Iterator
from queue import Queue
from threading import Event

import pytest

from priorfit.demo.background import Background, Newest
from priorfit.errors import InputError, PriorfitError


class Hands:
    """The thread of a page: what is handed over waits until it is taken."""

    def __init__(self) -> None:
        self.queue: Queue[Callable[[], None]] = Queue()
        self.ends: list[PriorfitError | None] = []

    def take(self) -> None:
        self.queue.get(timeout=20)()


@pytest.fixture
def background() -> Iterator[Background]:
    background = Background()
    yield background
    background.stop()


def test_a_result_is_delivered_in_the_thread_of_the_page(background: Background) -> None:
    hands, delivered = Hands(), []
    newest = Newest(background, hands.queue.put, hands.ends.append)
    newest.ask(lambda: [6 * 7], delivered.append)
    assert newest.is_busy and delivered == []
    hands.take()
    assert delivered == [42]
    hands.take()
    assert hands.ends == [None] and not newest.is_busy


def test_results_come_one_by_one_and_what_is_dropped_goes_no_further(background: Background) -> None:
    hands, delivered, gate, begun = Hands(), [], Event(), []

    def count() -> Iterator[int]:
        for number in range(9):
            begun.append(number)
            yield number
            gate.wait(20)

    newest = Newest(background, hands.queue.put, hands.ends.append)
    newest.ask(count, delivered.append)
    hands.take()
    assert delivered == [0] and newest.is_busy
    newest.drop()
    gate.set()
    background.submit(lambda: None).result(20)
    assert begun == [0, 1] and hands.queue.empty() and hands.ends == []


def test_a_result_is_dropped_where_something_newer_was_asked(background: Background) -> None:
    hands, delivered, gate = Hands(), [], Event()
    newest = Newest(background, hands.queue.put, hands.ends.append)
    newest.ask(lambda: [gate.wait(20) and "old"], delivered.append)
    newest.ask(lambda: ["new"], delivered.append)
    gate.set()
    hands.take()
    hands.take()
    assert delivered == ["new"] and hands.ends == [None]


def test_a_result_that_is_already_on_its_way_is_dropped_too(background: Background) -> None:
    hands, delivered = Hands(), []
    newest = Newest(background, hands.queue.put, hands.ends.append)
    newest.ask(lambda: ["old"], delivered.append)
    on_its_way = [hands.queue.get(timeout=20) for _ in range(2)]
    newest.drop()
    for each in on_its_way:
        each()
    assert delivered == hands.ends == [] and not newest.is_busy


def test_what_waits_behind_is_never_begun_once_it_is_old(background: Background) -> None:
    hands, begun, gate = Hands(), [], Event()
    newest = Newest(background, hands.queue.put, hands.ends.append)
    background.submit(lambda: gate.wait(20))
    for name in "abc":
        newest.ask(lambda name=name: begun.append(name) or [], lambda nothing: None)
    gate.set()
    hands.take()
    assert begun == ["c"] and hands.queue.empty() and hands.ends == [None]


def test_an_error_of_ours_is_told_and_the_next_question_is_answered(background: Background) -> None:
    hands, delivered = Hands(), []
    newest = Newest(background, hands.queue.put, hands.ends.append)

    def refuse() -> Iterator[int]:
        yield 1
        raise InputError("too many points")

    newest.ask(refuse, delivered.append)
    hands.take()
    hands.take()
    assert delivered == [1] and not newest.is_busy
    assert [str(error) for error in hands.ends] == ["too many points"]
    newest.ask(lambda: [2], delivered.append)
    hands.take()
    assert delivered == [1, 2]


def test_a_mistake_of_ours_is_raised_where_the_server_logs_it(background: Background) -> None:
    hands = Hands()
    newest = Newest(background, hands.queue.put, hands.ends.append)
    newest.ask(lambda: [1 // 0], lambda nothing: None)
    with pytest.raises(ZeroDivisionError):
        hands.take()
    assert hands.ends == [None] and not newest.is_busy
