"""The directive ``room``: the public names of a module with their docstrings, so that none is forgotten."""

import inspect
from importlib import import_module
from types import ModuleType

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.parsing import nested_parse_to_nodes


class Room(SphinxDirective):
    """All public names of a module of priorfit, classes first."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Let autodoc speak of each name."""
        module = import_module(self.arguments[0])
        lines = ["```{eval-rst}", f".. currentmodule:: {module.__name__}", ""]
        for name, kind in public_names(module):
            lines += [f".. auto{kind}:: {name}", *(["   :members:", ""] if kind == "class" else [""])]
        return nested_parse_to_nodes(self.state, StringList([*lines, "```"], source=module.__name__))


def public_names(module: ModuleType) -> list[tuple[str, str]]:
    """Name and kind of what a module offers of its own: ``class``, ``exception`` or ``function``."""
    lazy = getattr(module, "_LAZY", {})
    found = {name: getattr(module, name) for name in (*vars(module), *lazy) if not name.startswith("_")}
    ours = {name: value for name, value in found.items() if getattr(value, "__module__", "").startswith("priorfit")}
    named = [(name, kind_of(value)) for name, value in ours.items()]
    return sorted(named, key=lambda pair: (pair[1] == "function", pair[0]))


def kind_of(value: object) -> str:
    """How autodoc calls it."""
    if not inspect.isclass(value):
        return "function"
    return "exception" if issubclass(value, BaseException) else "class"


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of the directive."""
    app.add_directive("room", Room)
    return {"parallel_read_safe": True}
