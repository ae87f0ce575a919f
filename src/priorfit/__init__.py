"""Turn any prior you can sample from into a network that does Bayesian inference in one forward pass.

The public names are those of `priorfit.public`, which is imported when the first of them is asked for: it needs torch,
which takes seconds, and ``priorfit --version`` must not wait for it.
"""

import sys as _sys
from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from priorfit.public import *  # noqa: F403


class _Package(_ModuleType):
    """A package in which the name ``verify`` is a function, although a folder of that name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "verify" and isinstance(value, _ModuleType)):  # else the import system names the folder
            super().__setattr__(name, value)


_sys.modules[__name__].__class__ = _Package

_EXTRAS = ("estimators", "plots", "tables")
"""Folders that need an extra, and are imported when they are asked for."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        return _import_module("importlib.metadata").version("priorfit")
    if not name.startswith("_"):
        if name != "verify" and _find_spec(f"priorfit.{name}") is not None:
            return _import_module(f"priorfit.{name}")  # a folder or file alone, such as metrics or plots
        public = _import_module("priorfit.public")
        if name in vars(public):
            return vars(public)[name]
    raise AttributeError(f"module 'priorfit' has no attribute {name!r}")


def __dir__() -> list[str]:
    public = vars(_import_module("priorfit.public"))
    return sorted({name for name in {*globals(), *public} if not name.startswith("_")} | {"__version__", *_EXTRAS})
