"""Nested dataclasses of tensors as plain data beside named tensors, and back through an explicit table of types.

A tensor keeps its order in memory: products of a transposed copy may round differently, and what comes back must give
the same answers bit for bit.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import singledispatchmethod
from typing import Any

import numpy as np
import torch
from jaxtyping import Shaped
from torch import Tensor

from priorfit.errors import CheckpointError, InputError

Plain = Any
"""What JSON can say."""


class Packer:
    """Turns values into plain data, and collects their tensors; numbers that come twice are kept once.

    >>> packer = Packer()
    >>> packer.packed((1, torch.ones(2, 3).mT))
    {'tuple': [1, {'tensor': 't0', 'sizes': [2, 3], 'order': [1, 0], 'shape': [3, 2]}]}
    >>> packer.tensors["t0"].shape
    torch.Size([2, 3])
    """

    def __init__(self) -> None:
        self.tensors: dict[str, Shaped[Tensor, "..."]] = {}
        self._names: dict[object, str] = {}
        self._alive: list[Tensor] = []
        """What was packed, so that no other tensor takes its place in memory."""

    @property
    def num_bytes(self) -> int:
        """The memory that the tensors take."""
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())

    @singledispatchmethod
    def packed(self, value: object) -> Plain:
        """The plain data of a value: a number, a text, a tensor, or a dataclass, list, tuple or mapping of such."""
        if not dataclasses.is_dataclass(value) or isinstance(value, type):
            raise InputError(f"a {type(value).__name__} cannot be saved; expected numbers, text, tensors, dataclasses.")
        fields = {field.name: self.packed(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, "fields": fields}

    @packed.register
    def _(self, value: bool | int | float | str | None) -> Plain:
        return value

    @packed.register
    def _(self, value: Tensor) -> Plain:
        core = value.detach()
        for axis, step in enumerate(core.stride()):
            core = core.narrow(axis, 0, 1) if step == 0 and core.shape[axis] else core  # of an expanded tensor
        order = sorted(range(core.ndim), key=lambda axis: -core.stride(axis))
        inner = core.permute(order)
        axes = tuple((size, step) for size, step in zip(inner.shape, inner.stride(), strict=True) if size != 1)
        name = self._names.setdefault((core.device, core.data_ptr(), core.dtype, axes), f"t{len(self.tensors)}")
        self.tensors.setdefault(name, inner)
        self._alive.append(value)
        return {"tensor": name, "sizes": list(inner.shape), "order": order, "shape": list(value.shape)}

    @packed.register
    def _(self, value: np.ndarray) -> Plain:
        if value.dtype.kind in "biuf":
            return {"array": self.packed(torch.from_numpy(np.ascontiguousarray(value)))}
        return {"cells": [self.packed(cell) for cell in value.tolist()], "dtype": value.dtype.str}

    @packed.register
    def _(self, value: torch.dtype) -> Plain:
        return {"dtype": str(value).removeprefix("torch.")}

    @packed.register
    def _(self, value: torch.Size) -> Plain:
        return {"size": list(value)}

    @packed.register
    def _(self, value: tuple) -> Plain:
        return {"tuple": [self.packed(each) for each in value]}

    @packed.register
    def _(self, value: list) -> Plain:
        return [self.packed(each) for each in value]

    @packed.register(Mapping)
    def _(self, value: Mapping[Any, Any]) -> Plain:
        return {"items": [[self.packed(key), self.packed(each)] for key, each in value.items()]}


class Unpacker:
    """Turns plain data and tensors back into values; only the types of ``kinds`` can come out of it."""

    def __init__(self, tensors: Mapping[str, Shaped[Tensor, "..."]], kinds: Sequence[type]) -> None:
        self._tensors = {name: tensor.clone() for name, tensor in tensors.items()}  # aligned in memory as new ones are
        self._kinds = {kind.__name__: kind for kind in kinds}

    def value(self, plain: Plain) -> Any:
        """The value that `Packer.packed` was given."""
        match plain:
            case {"type": str(name), "fields": dict(fields)}:
                return self._object(name, fields)
            case {"tensor": str(name), "sizes": list(sizes), "order": list(order), "shape": list(shape)}:
                return self._tensor(name, sizes, order, shape)
            case {"items": list(pairs)}:
                return {self.value(key): self.value(each) for key, each in pairs}
            case dict():
                return self._leaf(plain)
            case list():
                return [self.value(each) for each in plain]
        return plain

    def _leaf(self, plain: Plain) -> Any:
        match plain:
            case {"tuple": list(parts)}:
                return tuple(self.value(each) for each in parts)
            case {"array": dict(tensor)}:
                return self.value(tensor).numpy()
            case {"cells": list(cells), "dtype": str(dtype)}:
                return np.array([self.value(cell) for cell in cells], dtype=dtype)
            case {"dtype": str(name)} if isinstance(getattr(torch, name, None), torch.dtype):
                return getattr(torch, name)
            case {"size": list(sizes)}:
                return torch.Size(sizes)
        raise CheckpointError(f"expected a value that priorfit wrote; got {str(plain)[:80]!r}.")

    def _object(self, name: str, fields: dict[str, Plain]) -> Any:
        kind = self._kinds.get(name)
        expected = [] if kind is None else [field.name for field in dataclasses.fields(kind)]
        if kind is None or sorted(fields) != sorted(expected):
            raise CheckpointError(
                f"a {name} with {', '.join(fields) or 'no fields'} is nothing that this version reads."
            )
        return kind(**{field: self.value(plain) for field, plain in fields.items()})

    def _tensor(self, name: str, sizes: list[int], order: list[int], shape: list[int]) -> Tensor:
        places = [order.index(axis) for axis in range(len(order))]
        return self._tensors[name].reshape(sizes).permute(places).expand(shape)
