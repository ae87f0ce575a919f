"""Latents that a caller knows: their values, checked and arranged as those of a batch of datasets."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Num
from torch import Tensor

from priorfit.errors import InputError, ShapeError
from priorfit.values import as_tensor


@runtime_checkable
class Named(Protocol):
    """A latent as far as its name and size go."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def size(self) -> int: ...  # noqa: D102


def known_values(
    latents: Sequence[Named], known: Mapping[str, object], batch_shape: torch.Size
) -> dict[str, Num[Tensor, "datasets size"]]:
    """Known latents of each dataset, from one value for all or one for each, ``(*batch)`` or ``(*batch, size)``."""
    by_name = {latent.name: latent for latent in latents}
    found = {}
    for name, value in known.items():
        if name not in by_name:
            near = get_close_matches(name, by_name, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"there is no latent {name!r}; the latents are {', '.join(by_name) or 'none'}.{hint}")
        number = as_tensor(torch.tensor(value) if isinstance(value, int | float) else value, name)
        found[name] = _arranged(by_name[name], number, batch_shape)
    return found


def _arranged(latent: Named, value: Num[Tensor, "..."], batch_shape: torch.Size) -> Num[Tensor, "datasets size"]:
    if not bool(value.isfinite().all()):
        raise InputError(f"latent {latent.name!r} is given as NaN or infinity. Leave it out where it is unknown.")
    expected = (*batch_shape, latent.size) if latent.size > 1 else tuple(batch_shape)
    try:
        spread = value.expand(expected)
    except RuntimeError:
        raise ShapeError(
            f"latent {latent.name!r} must be one value for all datasets, or have shape {expected}; got "
            f"{tuple(value.shape)}."
        ) from None
    return spread.reshape(batch_shape.numel(), latent.size)
