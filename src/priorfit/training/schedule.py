"""The learning rate over a run: linear warm-up, then a cosine to zero."""

import math


def learning_rate_factor(step: int, steps: int, warmup: float) -> float:
    """The factor at a step counted from 0; ``warmup`` is a share of all steps.

    >>> [round(learning_rate_factor(step, 10, 0.2), 2) for step in (0, 1, 2, 5, 9)]
    [0.5, 1.0, 0.96, 0.5, 0.0]
    """
    done = (step + 1) / steps
    if done <= warmup:
        return done / warmup
    return 0.5 * (1 + math.cos(math.pi * (done - warmup) / (1 - warmup)))
