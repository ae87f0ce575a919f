"""What `fit` makes of own priors in some minutes, trained once and kept in ``build/own_priors``, outside of git.

    python benchmarks/pilots/own_priors_models.py --minutes 10 [--priors waves growth]

`own_priors_gaps.py`, `own_priors_latents.py` and `race.py` measure these networks. Minutes are those of the processor,
by one thread, so that other work on the machine does not matter. A training that was stopped goes on.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch

import priorfit as pf
from benchmarks.pilots.own_priors import ALL
from priorfit.network import PFN
from priorfit.priors import ProgramPrior

MODELS = Path(__file__).parents[2] / "build" / "own_priors"
ORDER = ("waves", "growth", "dose_response", "change_point", "two_branches", "rings")
NUM_POINTS = 50
SEED = 0


def own_prior(name: str) -> ProgramPrior:
    """One of the own priors."""
    prior = ALL[name]
    assert isinstance(prior, ProgramPrior)
    return prior


def folder_of(name: str, minutes: float) -> Path:
    """Where the network of a prior is kept."""
    return MODELS / f"{name}-{minutes:g}"


def spent_file(name: str, minutes: float) -> Path:
    """Where the seconds of a whole fit are kept: reading the program, racing, training and judging."""
    return MODELS / f"{name}-{minutes:g}.seconds"


def is_trained(name: str, minutes: float) -> bool:
    """Whether the network of a prior is there."""
    return folder_of(name, minutes).exists()


def model_of(name: str, minutes: float) -> PFN:
    """The network of a prior, trained if it is not there yet."""
    prior, folder = own_prior(name), folder_of(name, minutes)
    if not folder.exists():
        start = time.perf_counter()
        train(prior, minutes).save(folder)
        spent_file(name, minutes).write_text(str(round(time.perf_counter() - start, 1)), encoding="utf-8")
    model = pf.load(folder, prior=prior)
    assert isinstance(model, PFN)
    return model


def about(model: PFN) -> dict[str, Any]:
    """What a row says of a network: its steps and its solver."""
    solver = "none" if model.settings.solver is None else type(model.settings.solver).__name__
    return {"steps": model.card.training["steps"], "solver": solver}


def train(prior: ProgramPrior, minutes: float) -> PFN:
    """Some minutes of training, from where a stopped one left off."""
    run = MODELS / f"{prior.name}-{minutes:g}.run"
    return pf.fit(
        prior,
        num_points=NUM_POINTS,
        minutes=minutes,
        seed=SEED,
        progress=False,
        folder=run,
        resume=run.exists(),
    )


def main() -> None:
    """Train whatever is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--priors", nargs="*", default=list(ORDER))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    time.perf_counter = time.process_time  # the clock that budgets are planned by
    for name in arguments.priors:
        training = model_of(name, arguments.minutes).card.training
        print(f"{name}: {training['steps']} steps in {training['seconds']} s of the processor", flush=True)


if __name__ == "__main__":
    main()
