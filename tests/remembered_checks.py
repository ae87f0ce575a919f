"""Checks of shapes and types that are made once for each kind of call, not at every call.

What jaxtyping and beartype say of a call follows from the types of its arguments and, for tensors, from their dtypes
and shapes. A training calls the same functions with the same shapes at every step, and the checks took longer than the
training. So a call whose arguments and result are of kinds that passed before is not checked again. Where the verdict
may rest on more than that (lists, dicts, sizes that an annotation takes from a value), every call is checked.
"""

import functools
import inspect
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from types import FunctionType
from typing import Any

import jaxtyping
import numpy as np
import torch
from jaxtyping import _decorator  # pyright: ignore[reportPrivateImportUsage]

MOST_KINDS = 4096
"""How many kinds of calls are remembered of one function."""

every_time: Any = _decorator.jaxtyped
"""The decorator of jaxtyping itself."""

NOTHING: Any = object()
Function = Callable[..., Any]


class UnclearError(Exception):
    """The verdict on a value may rest on more than what a kind tells."""


def kinds_by_shape(value: Any) -> Hashable:
    return type(value), value.dtype, tuple(value.shape)


def kinds_of_parts(value: Any) -> Hashable:
    return (type(value), *map(kind, value))


def kind_of_class(value: Any) -> Hashable:
    return value


def unclear(value: Any) -> Hashable:
    raise UnclearError


TREATMENTS: dict[type, Callable[[Any], Hashable]] = {
    **dict.fromkeys((torch.Tensor, torch.nn.Parameter, np.ndarray), kinds_by_shape),
    **dict.fromkeys((int, float, bool, str, bytes, type(None), torch.Size, range), type),
    tuple: kinds_of_parts,
}


def kind(value: Any) -> Hashable:
    """All that a check of a value looks at."""
    treatment = TREATMENTS.get(type(value))
    if treatment is None:
        treatment = TREATMENTS[type(value)] = treatment_of(type(value))
    return treatment(value)


def treatment_of(of_value: type) -> Callable[[Any], Hashable]:
    """How the kind of a value of this type is found."""
    if issubclass(of_value, torch.Tensor | np.ndarray):
        return kinds_by_shape
    if issubclass(of_value, tuple):
        return kinds_of_parts
    if issubclass(of_value, type):
        return kind_of_class
    return unclear if issubclass(of_value, Sequence | Mapping | Set) else type


def kind_if_clear(value: Any) -> Hashable | None:
    """The kind of a value; None where it is unclear."""
    try:
        return kind(value)
    except UnclearError:
        return None


def jaxtyped(fn: Any = NOTHING, *, typechecker: Any) -> Any:
    """In place of `jaxtyping.jaxtyped`, as the import hook of the tests calls it."""
    if fn is NOTHING:
        return functools.partial(jaxtyped, typechecker=typechecker)
    if inspect.isclass(fn) and getattr(fn.__init__, "is_remembered", False):
        return fn  # an inherited __init__ that is checked already
    if not isinstance(fn, FunctionType) or inspect.isgeneratorfunction(fn) or rests_on_values(fn):
        return every_time(fn, typechecker=typechecker)
    return remembering(fn, typechecker)


def rests_on_values(fn: Function) -> bool:
    """Whether an annotation names values: some words or numbers, or a size that is taken from an argument."""
    words = str(inspect.signature(fn))
    return "{" in words or "Literal" in words


def remembering(fn: Function, typechecker: Any) -> Function:
    """A function that is checked when it is called with, or gives, what it has not had before."""
    checked = every_time(fn, typechecker=typechecker)
    given, passed = threading.local(), dict[Hashable, set[Hashable]]()

    @functools.cache
    def checked_result() -> Function:
        return every_time(functools.wraps(fn)(lambda *_, **__: given.result), typechecker=typechecker)

    @functools.wraps(fn)
    def called(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if jaxtyping.config.jaxtyping_disable:
            return fn(*args, **kwargs)
        call = kind_if_clear((*args, *kwargs.values()))
        if call is None:
            return checked(*args, **kwargs)
        key = (call, *kwargs)
        if key not in passed:
            result = checked(*args, **kwargs)
            if len(passed) < MOST_KINDS:
                passed[key] = {kind_if_clear(result)}
            return result
        result = fn(*args, **kwargs)
        found = kind_if_clear(result)
        if found is None or found not in passed[key]:
            given.result = result
            checked_result()(*args, **kwargs)
            passed[key].add(found)
        return result

    called.is_remembered = True  # pyright: ignore[reportFunctionMemberAccess]
    return called


def install() -> None:
    """Let the import hook decorate by `jaxtyped` of this file."""
    for module in (jaxtyping, _decorator):
        module.jaxtyped = jaxtyped  # pyright: ignore[reportAttributeAccessIssue]
