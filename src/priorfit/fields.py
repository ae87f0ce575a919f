"""Check the fields of a dataclass against their annotations: settings, recipes and priors do so first."""

import dataclasses
import math
import types
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from jaxtyping import AbstractArray

from priorfit.errors import InputError, PriorfitError

WORDS: dict[Any, str] = {
    float: "a number",
    int: "a whole number",
    str: "text",
    bool: "true or false",
    None: "nothing",
    types.NoneType: "nothing",
}


def check_fields(instance: object, error: type[PriorfitError] = InputError) -> None:
    """Refuse a dataclass with a field that does not fit its annotation; call this first.

    Numbers of numpy become Python's own, so that the fields can be written to JSON. A number must be finite.

    >>> from priorfit.training import Budget
    >>> Budget(minutes=float("nan"))
    Traceback (most recent call last):
    priorfit.errors.RecipeError: minutes of a Budget must be finite; got nan.
    """
    for name, hint in _hints(type(instance)).items():
        value = getattr(instance, name)
        if isinstance(value, np.generic):
            value = value.item()
            object.__setattr__(instance, name, value)
        if not fits(value, hint):
            expected = "finite" if _is_infinite(value) else " or ".join(words(option) for option in options(hint))
            of_what = f"{name} of a {type(instance).__name__}"
            raise error(f"{of_what} must be {expected}; got {value!r}.{_nearest(value, hint)}")
        for part in value if isinstance(value, list | tuple) else (value,):
            if dataclasses.is_dataclass(part) and not isinstance(part, type):
                check_fields(part, error)


def fits(value: object, hint: Any) -> bool:
    """Whether a value is what an annotation says; what cannot be checked here, as a tensor's shape, fits.

    >>> fits(1, float), fits(True, int), fits((1, 2), tuple[int, int]), fits("spring", Literal["autumn"])
    (True, False, True, False)
    """
    return any(_fits_one(value, option) for option in options(hint))


def options(hint: Any) -> tuple[Any, ...]:
    """The members of a union; else the annotation itself."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def words(hint: Any) -> str:
    """The type that an annotation requires, in words."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(repr(choice) for choice in get_args(hint))
    if isinstance(hint, type) and get_origin(hint) is None:
        return WORDS.get(hint, hint.__name__)
    return WORDS[None] if hint is None else str(hint)


def _is_infinite(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


@cache
def _hints(cls: type) -> Mapping[str, Any]:
    """The annotations of a constructor's fields; none where they name what cannot be found from here."""
    try:
        hints = get_type_hints(cls)
    except NameError:
        return {}
    return {field.name: hints[field.name] for field in dataclasses.fields(cls) if field.init}


def _fits_one(value: object, hint: Any) -> bool:
    if hint is None or hint is Any:
        return hint is Any or value is None
    if hint in (int, float):
        kinds = int if hint is int else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool) and not _is_infinite(value)
    origin = get_origin(hint)
    if origin is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _fits_sequence(value, get_args(hint))
    kind = origin or hint
    return not isinstance(kind, type) or issubclass(kind, AbstractArray) or isinstance(value, kind)


def _fits_sequence(value: object, items: tuple[Any, ...]) -> bool:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return False
    repeated = len(items) == 1 or items[-1] is Ellipsis
    if not repeated and len(items) != len(value):
        return False
    wanted = [items[0]] * len(value) if repeated else items
    return all(fits(each, hint) for each, hint in zip(value, wanted, strict=True))


def _nearest(value: object, hint: Any) -> str:
    choices = [choice for option in options(hint) if get_origin(option) is Literal for choice in get_args(option)]
    close = get_close_matches(value, choices, n=1) if isinstance(value, str) else []
    return f" Did you mean {close[0]!r}?" if close else ""
