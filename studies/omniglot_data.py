"""Few-shot tasks of handwritten characters, by the protocols of the paper and of others.

The folder holds ``omniglot_first5.npz`` (the first five characters of each alphabet: ``images`` of
shape (alphabets, 5, 20 drawers, 28, 28), ``alphabet_names``, ``is_background``) and ``omniglot_full.npz`` (all
images, flat, with ``alphabet``, ``character`` and ``drawer``). It is given by ``--data`` or by the environment variable
``PRIORFIT_DATA``, itself or as the ``omniglot`` of a folder of all data; no data are committed.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from study import DATA, data_folder
from torch import Tensor

NUM_LEFT_OUT = 6
"""Training alphabets, the last in the order of their names, on which settings are chosen."""
FIRST_QUERY = 5
"""The paper's queries are the drawings from this one on, whatever the number of shots."""
PACOH_SEED, PACOH_SHARE = 123, 0.6
"""PACOH's split: all alphabets by name, shuffled with this seed; the first thirty of fifty are for training."""


@dataclass(frozen=True)
class Tasks:
    """Tasks of one shape; ``groups`` are the alphabets that standard errors are taken over."""

    context_x: Float[Tensor, "tasks context pixels"]
    context_y: Int[Tensor, "tasks context"]
    query_x: Float[Tensor, "tasks query pixels"]
    query_y: Int[Tensor, "tasks query"]
    groups: Int[Tensor, " tasks"]

    @property
    def ways(self) -> int:
        """How many classes a task has."""
        return int(self.context_y.max()) + 1


def tasks_of(
    drawings: UInt8[Tensor, "tasks ways drawers height width"],
    shots: int,
    first_query: int,
    groups: Int[Tensor, " tasks"],
) -> Tasks:
    """The first ``shots`` drawings of each class as context, those from ``first_query`` on as queries."""
    pixels = drawings.flatten(3).float() / 255
    parts = pixels[:, :, :shots], pixels[:, :, first_query:]
    x = [part.flatten(1, 2) for part in parts]
    y = [torch.arange(part.shape[1]).repeat_interleave(part.shape[2]).expand(len(part), -1) for part in parts]
    return Tasks(x[0], y[0], x[1], y[1], groups)


class Omniglot:
    """The images of a folder."""

    def __init__(self, folder: Path) -> None:
        self._files = {name: folder / f"omniglot_{name}.npz" for name in ("first5", "full")}
        for file in self._files.values():
            if not file.exists():
                raise SystemExit(f"{file.name} is missing in {folder}. Give a folder by --data or {DATA}.")
        with np.load(self._files["first5"]) as arrays:
            self.first_five = torch.from_numpy(arrays["images"])
            self.names = [str(name) for name in arrays["alphabet_names"]]
            self._is_background = torch.from_numpy(arrays["is_background"])

    @cached_property
    def characters(self) -> list[UInt8[Tensor, "characters drawers height width"]]:
        """All characters of each alphabet, in the order of their numbers."""
        with np.load(self._files["full"]) as arrays:
            images, alphabet, order = arrays["images28"], arrays["alphabet"], (arrays["drawer"], arrays["character"])
        found = []
        for one in range(len(self.names)):
            rows = np.flatnonzero(alphabet == one)
            rows = rows[np.lexsort([keys[rows] for keys in order])]
            count = len(np.unique(order[1][rows]))
            found.append(torch.from_numpy(images[rows]).unflatten(0, (count, -1)))
        return found

    def alphabets(self, part: str) -> Int[Tensor, " alphabets"]:
        """The alphabets of a part: ``evaluation``, ``background``, or its halves ``training`` and ``left-out``."""
        background = self._is_background.nonzero()[:, 0]
        parts = {
            "evaluation": (~self._is_background).nonzero()[:, 0],
            "background": background,
            "training": background[:-NUM_LEFT_OUT],
            "left-out": background[-NUM_LEFT_OUT:],
        }
        return parts[part]

    def paper(self, part: str, shots: int) -> Tasks:
        """The paper's tasks: characters 1 to 5 of each alphabet, drawings 1 to 5 and 6 to 20."""
        chosen = self.alphabets(part)
        return tasks_of(self.first_five[chosen], shots, FIRST_QUERY, chosen)

    def random(self, part: str, ways: int, shots: int, count: int, seed: int) -> Tasks:
        """Tasks of random characters of all alphabets of a part, with five queries a class, as others report them."""
        generator = torch.Generator().manual_seed(seed)
        pool = torch.cat([self.characters[int(one)] for one in self.alphabets(part)])
        chosen = torch.stack([torch.randperm(len(pool), generator=generator)[:ways] for _ in range(count)])
        drawers = torch.stack([torch.randperm(pool.shape[1], generator=generator)[: shots + 5] for _ in range(count)])
        drawings = pool[chosen[:, :, None], drawers[:, None]]
        return tasks_of(drawings, shots, shots, torch.arange(count))

    def pacoh(self, part: str, shots: int, seed: int) -> Tasks:
        """PACOH's tasks: characters 1 to 5 and 6 to 10 of its own alphabets; random drawings are the context."""
        order = np.arange(len(self.names))[np.argsort(np.array(self.names), kind="stable")]
        np.random.RandomState(PACOH_SEED).shuffle(order)
        first_test = round(PACOH_SHARE * len(order))
        chosen = order[first_test:] if part == "evaluation" else order[:first_test]
        generator = torch.Generator().manual_seed(seed)
        drawings, groups = [], []
        for one in chosen:
            for first in (0, 5):
                characters = self.characters[int(one)][first : first + 5]
                if len(characters) == 5:
                    drawers = [torch.randperm(characters.shape[1], generator=generator) for _ in range(5)]
                    drawings.append(torch.stack([each[order] for each, order in zip(characters, drawers, strict=True)]))
                    groups.append(int(one))
        return tasks_of(torch.stack(drawings), shots, FIRST_QUERY, torch.tensor(groups))


def omniglot(given: Path | None) -> Omniglot:
    """The images in the folder of the command line, else in that of the environment."""
    path = data_folder(given, "omniglot")
    if path is None:
        raise SystemExit(f"no folder of data: give one by --data or by the environment variable {DATA}.")
    return Omniglot(path)
