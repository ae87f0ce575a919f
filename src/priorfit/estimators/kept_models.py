"""Models that were read from files, kept for the next estimator of this process.

Reading a model takes ten times as long as fitting it to a small table. So it is read once for each state of its
folder, and every estimator gets a copy of its own: nobody can change the weights of another.
"""

from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TypeVar

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from priorfit.network import Model
from priorfit.zoo import load

MOST_KEPT = 8
"""Models that are kept at once; the one that was asked for longest ago gives way."""

Stamp = tuple[tuple[str, int, int, int], ...]
Module = TypeVar("Module", bound=nn.Module)

_ONE_READER = Lock()


def kept_model(folder: Path) -> Model:
    """A copy of the model in a folder, which is read where it is not kept or has changed since.

    >>> from priorfit.zoo.catalogue import FOLDER
    >>> first, second = (kept_model(FOLDER / "gp-rbf-1d") for _ in range(2))
    >>> first is second, torch.equal(first.decoder.weight, second.decoder.weight)
    (False, True)
    """
    place = folder.resolve()
    with _ONE_READER:
        return own_copy(_read(place, stamp_of(place)))


def stamp_of(folder: Path) -> Stamp:
    """What tells one state of a folder from another without reading it: name, inode, size and time of each file."""
    files = [(file.name, file.stat()) for file in sorted(folder.iterdir()) if file.is_file()]
    return tuple((name, state.st_ino, state.st_size, state.st_mtime_ns) for name, state in files)


@lru_cache(maxsize=MOST_KEPT)
def _read(folder: Path, stamp: Stamp) -> Model:
    with torch.random.fork_rng(devices=[]):  # a network is built with random weights before it gets its own
        return load(folder)


def own_copy(module: Module) -> Module:
    """A module with copies of its weights and buffers; what else it holds does not change and is shared.

    It is ten times as fast as ``copy.deepcopy``, which also copies every dictionary of hooks.
    """
    return _copied(module, {})


def _copied(module: Module, tensors: dict[int, Shaped[Tensor, "..."]]) -> Module:
    fresh = type(module).__new__(type(module))
    fresh.__dict__.update(module.__dict__)
    for kind in ("_parameters", "_buffers"):
        fresh.__dict__[kind] = {name: _own(tensor, tensors) for name, tensor in module.__dict__[kind].items()}
    children = module.__dict__["_modules"].items()
    fresh.__dict__["_modules"] = {name: child and _copied(child, tensors) for name, child in children}
    return fresh


def _own(tensor: Tensor | None, tensors: dict[int, Shaped[Tensor, "..."]]) -> Tensor | None:
    """A copy of a tensor; the same one wherever modules share it."""
    if tensor is None:
        return None
    if id(tensor) not in tensors:
        value = tensor.detach().clone()
        is_weight = isinstance(tensor, nn.Parameter)
        tensors[id(tensor)] = nn.Parameter(value, requires_grad=tensor.requires_grad) if is_weight else value
    return tensors[id(tensor)]
