"""What the decorator `prior` checks of a function and its settings, and how decorated priors are pickled."""

import pickle
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from operator import attrgetter
from typing import Any, cast

import torch
from torch.distributions import Distribution

from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.priors.inputs import Inputs
from priorfit.priors.prior import Prior

ARGUMENTS = ("num_features", "inputs", "outcome", "name")
"""The arguments of `prior`."""


def check_function(function: object, latents: tuple[str, ...] = ()) -> None:
    """Refuse what cannot be called with a batch of inputs and the latents by name."""
    if isinstance(function, Prior):
        raise InputError(f"@prior decorates a function; {function} is a prior already. Decorate once.")
    if isinstance(function, type) or not callable(function):
        raise InputError(
            f"@prior decorates a function of x; got {shown(function)}. Decorate a function, or derive the class from "
            "priorfit.priors.Prior and write its `draw`."
        )
    try:
        found = signature(function)
    except ValueError:  # some functions that are written in C do not tell
        return
    try:
        found.bind(torch.empty(0), **dict.fromkeys(latents))
    except TypeError:
        raise InputError(_wrong_arguments(function, str(found), latents)) from None


def _wrong_arguments(function: object, found: str, latents: tuple[str, ...]) -> str:
    got = f"got {shown(function)} with {found}."
    if latents:
        return (
            f"the function of a prior takes x and its latents by name, (x, {', '.join(latents)}); {got} Each latent is "
            "an argument of the function and a keyword of @pf.prior."
        )
    return (
        f"a prior's function takes one argument, x of shape (batch, points, features); {got} Name its latents, as in "
        "@pf.prior(num_features=1, scale=Uniform(0.0, 1.0)), or draw them inside of it; give fixed settings default "
        "values."
    )


def check_settings(num_features: object, inputs: object, outcome: object, name: object) -> None:
    """Refuse settings of the decorator that are of the wrong type."""
    if isinstance(num_features, bool) or not isinstance(num_features, int):
        raise InputError(f"num_features must be a whole number; got {num_features!r}.")
    if num_features < 1:
        raise InputError(f"num_features must be at least 1; got {num_features}.")
    if not isinstance(inputs, Inputs):
        raise InputError(
            f"inputs must be a distribution such as UniformInputs(0.0, 1.0) or NormalInputs(); got {shown(inputs)}."
        )
    if not isinstance(outcome, Real | Classes):
        raise InputError(
            "outcome must be Real() for real numbers or Classes(count) for labels 0 ... count - 1; got "
            f"{shown(outcome)}."
        )
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"name must be a text that is not empty; got {name!r}.")


def check_no_latents(**settings: object) -> None:
    """Refuse a distribution where the decorator has an argument of that name."""
    for argument, value in settings.items():
        if isinstance(value, Distribution):
            raise InputError(f"{argument} is an argument of @prior, so no latent can have its name. Rename the latent.")


def shown(value: object) -> str:
    """A value as messages show it; classes and functions are shown by name."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"the function {getattr(value, '__name__', value)}" if callable(value) else repr(value)


def reduced(prior: Prior, function: Callable[..., Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """How a decorated prior is pickled: by the name under which its module holds it, else by its fields.

    The decorator puts the prior in the place of its function, so the function has no name of its own to be found by.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    try:
        if isinstance(module, str) and isinstance(name, str) and prior_called(module, name) is prior:
            return prior_called, (module, name)
    except (ImportError, AttributeError):
        pass  # a function inside of another one, or a module that was not imported by its name
    return _with_fields, (type(prior), dict(vars(prior)))


def prior_called(module: str, name: str) -> object:
    """The object of this name in a module."""
    return attrgetter(name)(import_module(module))


def _with_fields(kind: type[Prior], fields: dict[str, Any]) -> Prior:
    if not issubclass(kind, Prior):
        raise pickle.UnpicklingError(f"{kind} is no prior.")
    made = cast(Prior, object.__new__(kind))
    vars(made).update(fields)
    return made
