"""Slow work in one background thread, of which only the newest request of each kind counts."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from priorfit.errors import PriorfitError


class Background:
    """One thread for all pages: its work may seed the global generators, which one thread may do at a time."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="priorfit-demo")

    def submit(self, work: Callable[[], None]) -> "Future[None]":
        """Run the work when the thread is free."""
        return self._pool.submit(work)

    def stop(self) -> None:
        """Drop waiting work, and let running work finish."""
        self._pool.shutdown(wait=True, cancel_futures=True)


class Newest:
    """The requests of one kind from one page: a new one replaces the one before, finished or not.

    Args:
        background: where the work is done.
        hand_over: schedules a function in the thread of the page.
        finished: is called there after the whole answer was delivered, with the `PriorfitError` that ended it if any.
    """

    def __init__(
        self,
        background: Background,
        hand_over: Callable[[Callable[[], None]], object],
        finished: Callable[[PriorfitError | None], None],
    ) -> None:
        self._background, self._hand_over, self._finished = background, hand_over, finished
        self._turn = 0
        self._waiting: Future[None] | None = None

    def ask(self, work: Callable[[], Iterable[Any]], deliver: Callable[[Any], None]) -> None:
        """Request the work; ``deliver`` gets its results one by one, unless a newer request came in between."""
        self.drop()
        turn = self._turn
        self._waiting = self._background.submit(lambda: self._run(turn, work, deliver))
        self._waiting.add_done_callback(partial(self._end, turn))

    def drop(self) -> None:
        """Drop the current request."""
        self._turn += 1
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    @property
    def is_busy(self) -> bool:
        """Whether an answer is pending."""
        return self._waiting is not None

    def _run(self, turn: int, work: Callable[[], Iterable[Any]], deliver: Callable[[Any], None]) -> None:
        if turn != self._turn:  # it began just as it was dropped
            return
        for result in work():
            if turn != self._turn:
                return
            self._hand_over(partial(self._if_newest, turn, partial(deliver, result)))

    def _end(self, turn: int, done: "Future[None]") -> None:
        if turn == self._turn:
            self._hand_over(partial(self._if_newest, turn, partial(self._finish, done)))

    def _if_newest(self, turn: int, action: Callable[[], None]) -> None:
        if turn == self._turn:
            action()

    def _finish(self, done: "Future[None]") -> None:
        self._waiting = None
        error = done.exception()
        self._finished(error if isinstance(error, PriorfitError) else None)
        if error is not None and not isinstance(error, PriorfitError):
            raise error  # a bug: the server logs it
