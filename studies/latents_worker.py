"""Trains sbi's neural posterior estimation on simulations and draws from it; `latents` runs it where sbi is.

One line of JSON in: ``simulations``, an .npz file with ``theta``, ``x`` and ``observed``, an observation a row;
``prior`` as plain data; ``draws``, ``seed``, ``threads``; ``epochs`` (null: until it no longer improves, as sbi does by
itself); and ``answers``, the .npy file to write the draws to, (observations, draws, parameters). One line out: the
processor seconds of training and of drawing for one observation, and the epochs.
"""

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
import torch
from sbi.inference import NPE  # pyright: ignore[reportMissingImports]
from sbi.utils import BoxUniform  # pyright: ignore[reportMissingImports]
from torch.distributions import Distribution, Independent, LogNormal, MultivariateNormal


def prior_of(described: dict[str, Any]) -> Distribution:
    """The prior of the parameters."""
    numbers = {name: torch.tensor(value) for name, value in described.items() if name != "family"}
    if described["family"] == "uniform":
        return BoxUniform(numbers["low"], numbers["high"])
    if described["family"] == "normal":
        return MultivariateNormal(numbers["mean"], precision_matrix=numbers["precision"])
    return Independent(LogNormal(numbers["loc"], numbers["scale"]), 1)


def answered(request: dict[str, Any]) -> dict[str, float]:
    """Train, draw, write the draws, and say how long it took."""
    simulations = np.load(request["simulations"])
    theta, x, observed = (torch.from_numpy(simulations[name]).float() for name in ("theta", "x", "observed"))
    start = time.process_time()
    inference = NPE(prior_of(request["prior"]), density_estimator="nsf", show_progress_bars=False)
    limit = {} if request["epochs"] is None else {"max_num_epochs": request["epochs"]}
    inference.append_simulations(theta, x).train(**limit)
    posterior = inference.build_posterior()
    trained = time.process_time()
    draws = [posterior.sample((request["draws"],), x=each, show_progress_bars=False).numpy() for each in observed]
    drawn = time.process_time()
    np.save(request["answers"], np.stack(draws).astype(np.float32))
    epochs = int(inference.summary["epochs_trained"][-1])
    return {"training_seconds": trained - start, "drawing_seconds": (drawn - trained) / len(draws), "epochs": epochs}


def main() -> None:
    """Answer one request."""
    replies, sys.stdout = sys.stdout, sys.stderr  # the package prints
    warnings.simplefilter("ignore")
    request = json.loads(sys.stdin.readline())
    torch.set_num_threads(request["threads"])
    torch.manual_seed(request["seed"])  # noqa: TID251  priorfit's seeding is not in this environment
    print(json.dumps(answered(request)), file=replies)


if __name__ == "__main__":
    main()
