"""The data of `latents`: observations and draws of reference posteriors, read from the wheel of sbibm.

The package is never imported. The folder of data (``--data``, or ``PRIORFIT_DATA``, or a cache of the user) holds its
wheel; where it is not there, ``pip download`` fetches it, 19 MB.
"""

import bz2
import io
import subprocess
import sys
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import torch
from jaxtyping import Float
from latents_simulators import GAUSSIAN_VARIANCE
from study import data_folder
from torch import Tensor

from priorfit.seeding import seeded

PACKAGE = "sbibm==1.1.0"
WHEEL = "sbibm-1.1.0-py2.py3-none-any.whl"
CACHE = Path.home() / ".cache" / "priorfit"
OBSERVATIONS = 10


class Benchmark(ABC):
    """What a benchmark has for each task and observation, the first of which is 1."""

    num_observations: int

    @abstractmethod
    def observation(self, task: str, number: int, file: str = "observation.csv") -> Float[Tensor, " components"]:
        """What was observed."""

    @abstractmethod
    def parameters(self, task: str, number: int) -> Float[Tensor, " parameters"]:
        """The parameters that the observation was simulated with."""

    @abstractmethod
    def reference(self, task: str, number: int) -> Float[Tensor, "draws parameters"]:
        """Draws of the posterior given the observation."""

    @abstractmethod
    def design(self) -> Float[Tensor, "bins parameters"]:
        """The design matrix of the Bernoulli regression."""


@dataclass(frozen=True)
class Wheel(Benchmark):
    """The wheel of sbibm."""

    path: Path
    num_observations: int = OBSERVATIONS

    def observation(self, task: str, number: int, file: str = "observation.csv") -> Float[Tensor, " components"]:
        """See `Benchmark.observation`."""
        return self._table(task, number, file)[0]

    def parameters(self, task: str, number: int) -> Float[Tensor, " parameters"]:
        """See `Benchmark.parameters`."""
        return self._table(task, number, "true_parameters.csv")[0]

    def reference(self, task: str, number: int) -> Float[Tensor, "draws parameters"]:
        """See `Benchmark.reference`."""
        return self._table(task, number, "reference_posterior_samples.csv.bz2")

    def design(self) -> Float[Tensor, "bins parameters"]:
        """See `Benchmark.design`."""
        with self._member("bernoulli_glm/files/design_matrix.pt") as file:
            whole = io.BytesIO(file.read())
        return torch.load(whole, weights_only=True).float()  # noqa: TID251  theirs, and a tensor alone is taken

    def _table(self, task: str, number: int, name: str) -> Float[Tensor, "rows columns"]:
        with self._member(f"{task}/files/num_observation_{number}/{name}") as file:
            text = file.read()
        text = bz2.decompress(text) if name.endswith(".bz2") else text
        return torch.from_numpy(np.loadtxt(io.BytesIO(text), delimiter=",", skiprows=1, ndmin=2))

    @contextmanager
    def _member(self, name: str) -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(self.path) as wheel, wheel.open(f"sbibm/tasks/{name}") as file:
            yield file


@dataclass(frozen=True)
class MadeUp(Benchmark):
    """Observations of `gaussian_linear` alone with draws of its exact posterior, for quick runs without any data."""

    num_observations: int = 2
    draws: int = 100

    def observation(self, task: str, number: int, file: str = "observation.csv") -> Float[Tensor, " components"]:
        """See `Benchmark.observation`."""
        with seeded(number):
            return (2 * GAUSSIAN_VARIANCE) ** 0.5 * torch.randn(10, dtype=torch.float64)

    def parameters(self, task: str, number: int) -> Float[Tensor, " parameters"]:
        """See `Benchmark.parameters`: the posterior mean."""
        return self.observation(task, number) / 2

    def reference(self, task: str, number: int) -> Float[Tensor, "draws parameters"]:
        """See `Benchmark.reference`."""
        with seeded(number, 1):
            noise = torch.randn(self.draws, 10, dtype=torch.float64)
        return self.parameters(task, number) + (GAUSSIAN_VARIANCE / 2) ** 0.5 * noise

    def design(self) -> Float[Tensor, "bins parameters"]:
        """See `Benchmark.design`."""
        with seeded(0):
            return torch.cat([torch.ones(100, 1), torch.randn(100, 9)], dim=1)


def benchmark_in(option: Path | None) -> Wheel:
    """The wheel in the folder of data, fetched if it is not there."""
    folder = data_folder(option, "sbibm") or CACHE / "sbibm"
    if not (folder / WHEEL).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PACKAGE, "--dest", str(folder)]
        subprocess.run(fetch, check=True)
    return Wheel(folder / WHEEL)
