"""Frozen dataclasses as plain dicts, for JSON and TOML, and back through an explicit table of types."""

import dataclasses
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from priorfit.errors import PriorfitError, RecipeError
from priorfit.fields import fits, options, words

Description: TypeAlias = dict[str, Any]
"""A dict with a "type" and the fields of that type."""


def describe(obj: object) -> Description:
    """A dataclass as a dict: its type's name under "type", then its fields.

    Fields that are None by default and None here are left out, since TOML has no null. A field whose metadata
    say ``{"described": False}``, such as a function, is left out too; its type can then not be built.

    >>> from priorfit.priors.inputs import UniformInputs
    >>> describe(UniformInputs(-1.0, 1.0))
    {'type': 'UniformInputs', 'low': -1.0, 'high': 1.0}
    """
    if not dataclasses.is_dataclass(obj) or isinstance(obj, type):
        raise RecipeError(f"only dataclasses can be described; got {obj!r}. Make it a frozen dataclass.")
    fields = {field.name: getattr(obj, field.name) for field in _own_fields(type(obj)) if _is_described(field)}
    omitted = {field.name for field in _own_fields(type(obj)) if field.default is None}
    kept = {name: value for name, value in fields.items() if not (value is None and name in omitted)}
    return {"type": type(obj).__name__, **{name: _plain(value) for name, value in kept.items()}}


def build(description: Mapping[str, Any], table: Mapping[str, type], where: str = "") -> Any:
    """The object that a description stands for; only the types of ``table`` can come out of it.

    A part may leave its "type" out: it is then that of the field's default, or the only one that fits. ``where``
    is the place of the description in its file, for the messages.

    >>> from priorfit.priors import PRIORS
    >>> build({"type": "UniformInputs", "high": 2}, PRIORS)
    UniformInputs(low=0.0, high=2.0)
    """
    cls = _type_of(description, table, where)
    values = {name: value for name, value in description.items() if name != "type"}
    _check_names(cls, values, where)
    hints, fields = get_type_hints(cls), {field.name: field for field in _own_fields(cls)}
    named = {name: _with_type(value, fields[name], table) for name, value in values.items()}
    converted = {name: _converted(value, hints[name], table, _at(where, name)) for name, value in named.items()}
    try:
        return cls(**converted)
    except PriorfitError as error:
        raise RecipeError(f"{_prefix(where)}{cls.__name__}: {error}") from error


def _own_fields(cls: type) -> list[dataclasses.Field[Any]]:
    """The fields that the constructor takes."""
    return [field for field in dataclasses.fields(cls) if field.init]


def _is_described(field: dataclasses.Field[Any]) -> bool:
    return field.metadata.get("described", True)


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sequence):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return describe(value)


def _at(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _nearest(name: str, names: Sequence[str]) -> str:
    close = get_close_matches(name, names, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Choose one of: {', '.join(sorted(names))}."


def _type_of(description: Mapping[str, Any], table: Mapping[str, type], where: str) -> type:
    if "type" not in description:
        raise RecipeError(f"{_prefix(where)}a 'type' is missing; add one of: {', '.join(sorted(table))}.")
    name = description["type"]
    if not isinstance(name, str) or name not in table:
        raise RecipeError(f"{_prefix(where)}unknown type {name!r}. {_nearest(str(name), list(table))}")
    return table[name]


def _check_names(cls: type, values: Mapping[str, Any], where: str) -> None:
    hidden = [field.name for field in _own_fields(cls) if not _is_described(field)]
    if hidden:
        raise RecipeError(
            f"{_prefix(where)}a {cls.__name__} cannot be built from its description, which does not hold its "
            f"{hidden[0]}. Pass the object itself{_called(values)}."
        )
    names = [field.name for field in _own_fields(cls)]
    for name in values:
        if name not in names:
            raise RecipeError(f"{_prefix(where)}{cls.__name__} has no field {name!r}. {_nearest(name, names)}")
    for field in _own_fields(cls):
        optional = (field.default, field.default_factory) != (dataclasses.MISSING, dataclasses.MISSING)
        if field.name not in values and not optional:
            raise RecipeError(f"{_prefix(where)}{cls.__name__} needs the field {field.name!r}.")


def _with_type(value: Any, field: dataclasses.Field[Any], table: Mapping[str, type]) -> Any:
    """A part that leaves its type out gets that of its field's default."""
    made_by = field.default_factory if isinstance(field.default_factory, type) else type(field.default)
    if isinstance(value, Mapping) and "type" not in value and made_by in table.values():
        return {"type": made_by.__name__, **value}
    return value


def _called(values: Mapping[str, Any]) -> str:
    return f" ({values['name']})" if "name" in values else ""


def _converted(value: Any, hint: Any, table: Mapping[str, type], where: str) -> Any:
    """The value converted to its annotation, or an error that names its place in the file."""
    possible = [option for option in options(hint) if option in table.values()]
    if isinstance(value, Mapping) and ("type" in value or len(possible) == 1):
        value = build({"type": possible[0].__name__ if possible else "", **value}, table, where)
    for option in options(hint):
        is_fitting, result = _fitted(value, option, table, where)
        if is_fitting:
            return result
    raise RecipeError(f"{where}: expected {' or '.join(words(option) for option in options(hint))}; got {value!r}.")


def _fitted(value: Any, hint: Any, table: Mapping[str, type], where: str) -> tuple[bool, Any]:
    """Whether a value fits one annotation, and what it becomes."""
    origin = get_origin(hint)
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _fitted_sequence(value, get_args(hint), table, where)
    is_fitting = fits(value, hint)
    return is_fitting, float(value) if is_fitting and hint is float else value


def _fitted_sequence(
    value: Any,
    items: tuple[Any, ...],
    table: Mapping[str, type],
    where: str,
) -> tuple[bool, Any]:
    if not isinstance(value, list | tuple):
        return False, value
    repeated = len(items) == 1 or items[-1] is Ellipsis
    if not repeated and len(items) != len(value):
        return False, value
    hints = [items[0]] * len(value) if repeated else items
    pairs = zip(value, hints, strict=True)
    return True, tuple(_converted(each, hint, table, f"{where}[{i}]") for i, (each, hint) in enumerate(pairs))
