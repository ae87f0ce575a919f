"""The published `pfns` package on an own prior, with the settings of its notebook; `own_priors_gaps` asks it.

Its own loop trains on draws of the prior from a file, so many that none is used twice in a few minutes; drawing them is
not counted. It is told nothing of the prior but that, and learns no latents.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import numpy as np
import torch
from torch import Tensor

import priorfit as pf
from benchmarks.speed.pfns_peer import train_and_answer
from benchmarks.speed.time_to_quality import NOTEBOOK
from priorfit.distributions import UnboundedRiemann
from priorfit.priors import Prior
from priorfit.seeding import seeded

DRAWS = 2**16
"""Datasets in the file."""

Truths = Mapping[int, Mapping[str, Tensor]]


def predictives(
    prior: Prior, num_points: int, seconds: float, truths: Truths
) -> tuple[dict[int, UnboundedRiemann], dict[str, float]]:
    """What the package says of the queries of each context size after some seconds of one core, and what it spent."""
    if not isinstance(prior.outcome, pf.Real):
        raise pf.InputError(f"pfns is asked for real targets alone; got {prior}. Choose others with --priors.")
    with tempfile.TemporaryDirectory() as folder:
        files = {each: str(Path(folder) / f"{each}.npz") for each in ("questions", "answers", "draws")}
        with seeded(0, 4_200_000):
            drawn = [prior.sample(2**12, num_points) for _ in range(DRAWS // 2**12)]
        x, y = (torch.cat([getattr(part, name) for part in drawn]).float().numpy() for name in ("x", "y"))
        np.savez(files["draws"], x=x, y=y)
        asked = {f"{name}_{size}": array for size, each in truths.items() for name, array in questions(each).items()}
        np.savez(files["questions"], **asked)
        told = {"settings": NOTEBOOK, "sizes": list(truths), "num_points": num_points, "seconds": seconds}
        more = {"threads": 1, "seed": 0, "num_features": prior.num_features}
        spent = train_and_answer(files | told | more)
        answers = {each: torch.from_numpy(value) for each, value in np.load(files["answers"]).items()}
    found = {size: UnboundedRiemann(answers["borders"], answers[f"logits_{size}"]) for size in truths}
    for size, ppd in found.items():  # the density that it was trained with
        drawn_y = torch.from_numpy(asked[f"query_y_{size}"])
        is_same = torch.isclose(-ppd.log_prob(drawn_y), answers[f"loss_{size}"], rtol=1e-4, atol=1e-4)
        assert float(is_same.float().mean()) > 0.99  # a y on a border is in either bucket
    return found, spent


def questions(truth: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Contexts, queries, and a y at each query."""
    names = {"context_x": truth["x"], "context_y": truth["y"], "query_x": truth["query_x"]}
    return {name: part.float().numpy() for name, part in (names | {"query_y": truth["nodes"][..., 0]}).items()}
