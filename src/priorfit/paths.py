"""Paths that people pass: checked once, where they come in."""

import os
from pathlib import Path

from priorfit.errors import InputError


def usable_path(path: object) -> Path:
    """A path as a `Path`; what the system cannot take as one is refused, whether or not anything is there.

    >>> usable_path("runs/waves").name
    'waves'
    """
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes) or not os.fspath(path):
        raise InputError(f"expected a path, as text or a pathlib.Path; got {path!r}.")
    try:
        found = Path(path)
        found.resolve().exists()
    except (ValueError, RuntimeError, OSError) as error:  # a null byte, a loop of links, a name too long
        raise InputError(f"{str(path)!r} cannot be used as a path: {error}.") from error
    return found
