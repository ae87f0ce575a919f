"""How long a baseline may work on one dataset."""

import time
from dataclasses import dataclass, field

from priorfit.errors import InputError, TimeLimitError


@dataclass(frozen=True)
class Deadline:
    """A limit of seconds, counted from when this is made; None is no limit.

    >>> Deadline(None).is_past, Deadline(1e-9).is_past
    (False, True)
    """

    seconds: float | None
    start: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"time_limit is a number of seconds above 0, or None; got {self.seconds}.")

    @property
    def is_past(self) -> bool:
        """Whether the time is up."""
        return self.left == 0

    @property
    def left(self) -> float | None:
        """How many seconds are left, at least 0; None without a limit."""
        if self.seconds is None:
            return None
        return max(0.0, self.start + self.seconds - time.perf_counter())

    def missed(self, baseline: str, stage: str) -> TimeLimitError:
        """The error for a baseline that has nothing to answer with yet."""
        return TimeLimitError(
            f"{baseline} was still in its {stage} after time_limit = {self.seconds:g} s for one dataset, so it has "
            "nothing to answer with. Raise time_limit, or ask for less work."
        )
