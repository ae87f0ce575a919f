"""What a file keeps of a conditioned network, and how it is written: whole or not at all."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Num, Shaped
from torch import Tensor

from priorfit.checkpoint import holds_checkpoint, load_folder, save_folder
from priorfit.description import describe
from priorfit.errors import CheckpointError
from priorfit.network.attention.attention import KeysValues
from priorfit.network.model import Model
from priorfit.network.reading import Reading
from priorfit.network.storage import narrowed
from priorfit.network.units import NoUnits, Units
from priorfit.packing import Packer, Plain
from priorfit.paths import usable_path
from priorfit.values import as_tensor

KINDS = ("posterior", "estimator")
"""What a folder of a conditioned network may hold."""


@dataclass(frozen=True)
class Asked:
    """What `condition` was called with: the user's numbers as tensors, and known latents."""

    x: Num[Tensor, "*batch points columns"]
    y: Num[Tensor, "*batch points"]
    latents: dict[str, Any]


@dataclass(frozen=True)
class KeptMemory:
    """What a `PFN` keeps of a context, without its modules; ``solved`` is what the solver's `Solved.kept` gave."""

    layers: list[KeysValues]
    solved: Any
    data_layers: list[KeysValues]
    known: tuple[int, ...]
    numbers: Float[Tensor, "batch known"]


@dataclass(frozen=True)
class KeptPoints:
    """The points of a context, in the units of the prior and as they were given."""

    x: Num[Tensor, "datasets points features"]
    y: Num[Tensor, "datasets points"]
    asked: Asked

    def plain(self) -> "KeptPoints":
        """The same, with known latents as numbers or tensors."""
        latents = {name: as_tensor(np.asarray(value), name) for name, value in self.asked.latents.items()}
        return KeptPoints(self.x, self.y, Asked(self.asked.x, self.asked.y, latents))

    def joined(self, more: "KeptPoints") -> "KeptPoints":
        """These points, then more of them."""
        first, then = self.asked, more.asked
        asked = Asked(torch.cat([first.x, then.x], dim=-2), torch.cat([first.y, then.y], dim=-1), first.latents)
        return KeptPoints(torch.cat([self.x, more.x], dim=1), torch.cat([self.y, more.y], dim=1), asked)


@dataclass(frozen=True)
class KeptPosterior:
    """A conditioned network without its weights: its memory, the points that it was conditioned on, or both."""

    reading: Reading
    units: Units | NoUnits
    memory: Any
    points: KeptPoints | None


def without_points(needed_for: str) -> str:
    """What to say where the points of a context are needed and were not kept."""
    return (
        f"{needed_for} reads the points of the context again, and the file of this posterior was saved without them. "
        "Save it with points=True, or condition on the points anew."
    )


def num_bytes(kept: object) -> int:
    """The memory that the tensors of something take.

    >>> num_bytes((torch.zeros(3), "text"))
    12
    """
    packer = Packer()
    packer.packed(kept)
    return packer.num_bytes


def model_hash(model: Model) -> str:
    """The sha256 of all that decides a model's answers: its settings, its problem and its weights."""
    digest = hashlib.sha256(_canonical([describe(model.settings), describe(model.problem)]))
    for name, weight in sorted(model.state_dict().items()):
        plain = weight.detach().cpu().contiguous()
        digest.update(_canonical([name, str(plain.dtype), list(plain.shape)]))
        digest.update(plain.flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def plain_hash(plain: Plain) -> str:
    """The sha256 of plain data, however its JSON is laid out."""
    return hashlib.sha256(_canonical(plain)).hexdigest()


def _canonical(plain: Plain) -> bytes:
    return json.dumps(plain, sort_keys=True).encode()


def write_kept(path: str | Path, kind: str, kept: object, model: Model) -> None:
    """Write what is kept of a context, by ``model``: its hash, and its weights unless they come with the package."""
    place, packer = usable_path(path), Packer()
    plain, own = packer.packed(kept), model_hash(model)
    is_released = model.released is not None and model.released[1] == own
    name = model.released[0] if model.released is not None and is_released else model.card.name
    record = {"name": name, "sha256": own, "released": is_released}
    groups: dict[str, dict[str, Shaped[Tensor, "..."]]] = {"context": packer.tensors}
    config = {"kind": kind, "model": record, "kept": plain, "kept_sha256": plain_hash(plain)}
    if not is_released:
        groups["model"] = narrowed(model, None)
        described = {"network": describe(model.settings), "problem": describe(model.problem)}
        config |= described | {"card": asdict(model.card)}
    refuse_other_kinds(place)
    save_folder(place, groups, config)


def refuse_other_kinds(place: Path) -> None:
    """Refuse to replace a checkpoint that is a model or a training: weights are hard to get back."""
    if not holds_checkpoint(place):
        return
    _, config = load_folder(place, groups=())
    if config.get("kind") not in KINDS:
        raise CheckpointError(
            f"{place} holds a model or a training, which a posterior would replace. Choose another path."
        )
