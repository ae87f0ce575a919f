"""From the weights of a file to a network: what does not fit is refused before anything large is allocated.

A file may say anything. So the network that its config describes is built under an `Allowance` that follows from the
weights which are there: a width of 60,000 or 20,000 layers end in an error after milliseconds, not after 14 GB or a
minute. (The meta device would do as well, but its first random initialisation imports for seconds.)
"""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import Shaped
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from priorfit.errors import CheckpointError, PriorfitError

Network = TypeVar("Network", bound=nn.Module)

SPARE_NUMBERS = 2**22
"""Numbers that a network may allocate beyond four times those of its file, for what it makes only to build itself."""

SPARE_TENSORS = 1000
"""Tensors that it may allocate beyond eight times those of its file."""

SIZED = (torch.empty, torch.zeros, torch.ones, torch.rand, torch.randn, torch.full)
"""Functions of torch whose arguments begin with a size."""


class TooLarge(Exception):
    """More was to be allocated than the allowance."""


class Allowance(TorchFunctionMode):
    """Inside this context new tensors are made only up to a total of numbers and of tensors; then `TooLarge` is raised.

    >>> with Allowance(numbers=100, tensors=10):
    ...     nn.Linear(10_000_000, 10_000_000)
    Traceback (most recent call last):
    priorfit.network.allowance.TooLarge: 100000000000000 numbers at once
    """

    def __init__(self, numbers: float, tensors: float) -> None:
        super().__init__()
        self.numbers, self.tensors = numbers, tensors

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Count what a function is about to allocate, then call it."""
        given = dict(kwargs or {})
        count = num_numbers(func, args, given)
        if count is not None:
            self.numbers, self.tensors = self.numbers - count, self.tensors - 1
            if self.numbers < 0 or self.tensors < 0:
                raise TooLarge(f"{count} numbers at once" if self.numbers < 0 else "too many tensors")
        return func(*args, **given)


def num_numbers(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> int | None:
    """How many numbers a call to torch allocates, where its arguments say so.

    >>> num_numbers(torch.zeros, (3, 4), {}), num_numbers(torch.eye, (3,), {}), num_numbers(torch.cat, (), {})
    (12, 9, None)
    """
    if func in SIZED:
        size = kwargs.get("size", args[0] if args and isinstance(args[0], Sequence) else args)
        return math.prod(int(length) for length in size)
    if func is torch.linspace:
        return int(kwargs.get("steps", args[2] if len(args) > 2 else 1))
    if func is torch.arange and args:
        return int(args[0] if len(args) == 1 else args[1] - args[0])
    if func is torch.eye:
        return int(args[0]) * int(args[1] if len(args) > 1 else args[0])
    return None


def network_of(build: Callable[[], Network], weights: Mapping[str, Shaped[Tensor, "..."]], path: Path | str) -> Network:
    """What ``build`` makes, with the weights of the file at ``path``; they must fit each other."""
    numbers = 4 * sum(weight.numel() for weight in weights.values()) + SPARE_NUMBERS
    try:
        with Allowance(numbers, 8 * len(weights) + SPARE_TENSORS):
            network = build()
    except TooLarge as error:
        raise CheckpointError(
            f"the weights in {path} do not fit the network that its config describes, which is far larger than its "
            f"{len(weights)} tensors. Copy the checkpoint anew."
        ) from error
    except (PriorfitError, RuntimeError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise CheckpointError(f"the network that the config in {path} describes cannot be built: {error}") from error
    _check_fit(network.state_dict(), weights, path)
    network.load_state_dict(dict(weights))
    return network


def _check_fit(expected: Mapping[str, Tensor], weights: Mapping[str, Tensor], path: Path | str) -> None:
    """Compare names, shapes and kinds of numbers; then look for NaN and infinity."""
    begin = f"the weights in {path} do not fit the network that its config describes"
    for name in sorted(expected.keys() ^ weights.keys()):
        raise CheckpointError(f"{begin}: {name} is only in {'the config' if name in expected else 'the file'}.")
    for name, wanted in expected.items():
        found = weights[name]
        if found.shape != wanted.shape or found.is_floating_point() != wanted.is_floating_point():
            raise CheckpointError(
                f"{begin}: {name} should have shape {tuple(wanted.shape)} in {wanted.dtype}; the file has "
                f"{tuple(found.shape)} in {found.dtype}."
            )
        if not bool(found.isfinite().all()):
            raise CheckpointError(f"{name} in {path} has values that are not finite; no prediction would be a number.")
