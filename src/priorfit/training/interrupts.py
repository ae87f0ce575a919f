"""SIGINT and SIGTERM end a run between two steps, never within one."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether a signal has asked the run to stop."""

    def __init__(self) -> None:
        self.is_made = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Remember the first request; the second one stops at once."""
        if self.is_made:
            raise KeyboardInterrupt
        self.is_made = True


@contextmanager
def stop_requests() -> Iterator[StopRequest]:
    """Catch SIGINT and SIGTERM inside the block (in the main thread; elsewhere Python allows no handlers)."""
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, request.handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
