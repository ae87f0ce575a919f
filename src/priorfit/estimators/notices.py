"""Warnings about a table that point to the line of the user."""

import sys
import warnings

from priorfit.errors import TableWarning

OURS = ("priorfit", "sklearn", "jaxtyping", "beartype")
"""Packages whose lines nobody wrote who reads the warning."""


def warn_of_table(message: str) -> None:
    """Say what was done to a table, at the nearest line outside of the libraries."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, TableWarning, stacklevel=level)
