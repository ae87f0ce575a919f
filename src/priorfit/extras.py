"""Optional packages: imported in the folder of their extra, and if missing, reported with how to install them."""

from collections.abc import Iterator
from contextlib import contextmanager

from priorfit.errors import MissingExtraError


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Import optional packages inside this block; a missing one becomes a `MissingExtraError`.

    >>> with needs_extra("plots"):
    ...     import a_package_that_nobody_has
    Traceback (most recent call last):
    priorfit.errors.MissingExtraError: This needs the package 'a_package_that_nobody_has', which is not installed. ...
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"This needs the package {error.name!r}, which is not installed. "
            f"Install the extra that brings it: pip install 'priorfit[{extra}]'."
        ) from error
