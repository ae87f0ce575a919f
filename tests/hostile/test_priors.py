"""`fit`, `check_prior` and `@pf.prior`: priors and settings of every wrong kind."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hostile.cases import RIGHT, Case, check, scratch

import priorfit as pf

INPUT, PRIOR, RECIPE, TRAINING, CHECKPOINT = (
    f"`{name}Error`" for name in ("Input", "Prior", "Recipe", "Training", "Checkpoint")
)
GP = pf.GaussianProcess()
TINY = pf.NetworkSettings(width=16, layers=1, attention_heads=1, feedforward=16)


def fit(prior: object = GP, **settings: object) -> object:
    options = {"steps": 1, "num_points": 4, "progress": False, "network": TINY, **settings}
    model = pf.fit(prior, **options)
    return model.condition(np.zeros((0, 1)), np.zeros(0)).predict([[0.5]])


def drawn_by(draw: Callable[[torch.Tensor], object], **fields: object) -> pf.Prior:
    return pf.prior(**{"num_features": 1, **fields})(draw)


def noise(x: torch.Tensor) -> torch.Tensor:
    return torch.randn(x.shape[:-1])


FUNCTIONS = {
    ("shape", "targets with an axis of columns"): lambda x: torch.randn(x.shape),
    ("shape", "targets of one dataset"): lambda x: torch.randn(x.shape[1]),
    ("shape", "one number"): lambda x: torch.randn(()),
    ("shape", "targets transposed"): lambda x: torch.randn(x.shape[1], x.shape[0]),
    ("type", "None"): lambda x: None,
    ("type", "an array of numpy"): lambda x: np.zeros(x.shape[:-1]),
    ("type", "a list"): lambda x: noise(x).tolist(),
    ("type", "text"): lambda x: "noise",
    ("type", "x and y together"): lambda x: (x, noise(x)),
    ("type", "a distribution"): lambda x: torch.distributions.Normal(noise(x), 1.0),
    ("dtype", "complex numbers"): lambda x: noise(x) + 1j,
    ("dtype", "truth values, said to be reals"): lambda x: noise(x) > 0,
    ("NaN", "NaN everywhere"): lambda x: noise(x) * torch.nan,
    ("NaN", "NaN at times"): lambda x: noise(x).log(),
    ("NaN", "infinity"): lambda x: noise(x) / 0,
    ("range", "constant targets"): lambda x: torch.ones(x.shape[:-1]),
    ("range", "x changed in place"): lambda x: x.mul_(2)[..., 0] + noise(x),
    ("range", "an index out of bounds"): lambda x: x[..., 7],
    ("range", "an error of its own"): lambda x: noise(x) / int("a"),
}

SETTINGS = {
    ("type", "steps of 1.5"): ({"steps": 1.5}, RECIPE),
    ("type", "steps as text"): ({"steps": "many"}, RECIPE),
    ("range", "no steps"): ({"steps": 0}, RECIPE),
    ("range", "negative steps"): ({"steps": -1}, RECIPE),
    ("NaN", "NaN minutes"): ({"steps": None, "minutes": float("nan")}, RECIPE),
    ("NaN", "infinite minutes"): ({"steps": None, "minutes": float("inf")}, RECIPE),
    ("range", "steps and minutes"): ({"minutes": 1.0}, RECIPE),
    ("range", "no points"): ({"num_points": 0}, RECIPE),
    ("range", "negative points"): ({"num_points": -5}, RECIPE),
    ("size", "10^12 points"): ({"num_points": 10**12}, RECIPE),
    ("size", "16 million points"): ({"num_points": 16_000_000}, TRAINING),
    ("type", "points as text"): ({"num_points": "ten"}, RECIPE),
    ("type", "a seed of 0.5"): ({"seed": 0.5}, RECIPE),
    ("range", "a negative seed"): ({"seed": -1}, RECIPE),
    ("type", "targets that are none"): ({"targets": "expectd"}, RECIPE),
    ("type", "text as network"): ({"network": "large"}, INPUT),
    ("type", "a number as folder"): ({"folder": 3}, INPUT),
    ("file", "a folder below a device"): ({"folder": "/dev/null/run"}, CHECKPOINT),
    ("file", "a folder with a null byte"): ({"folder": "a\0b"}, INPUT),
    ("file", "a folder of somebody else"): ({"folder": "/proc"}, CHECKPOINT),
    ("file", "resume without a folder"): ({"resume": True}, TRAINING),
    ("file", "resume where no run is"): ({"resume": True, "folder": scratch() / "no-run"}, TRAINING),
    ("type", "a device that is none"): ({"device": "tpu7"}, INPUT),
    ("type", "a number as device"): ({"device": 0}, INPUT),
    ("type", "a device without memory (meta)"): ({"device": "meta"}, INPUT),
}

PRIORS = {
    ("type", "None"): None,
    ("type", "text"): "GaussianProcess",
    ("type", "a number"): 3,
    ("type", "a function that is not decorated"): noise,
    ("type", "a class"): pf.GaussianProcess,
    ("type", "a model's card"): {"type": "GaussianProcess"},
    ("type", "a distribution"): torch.distributions.Normal(0.0, 1.0),
}

DECLARED = {
    ("range", "no features"): {"num_features": 0},
    ("range", "negative features"): {"num_features": -1},
    ("type", "features of 1.5"): {"num_features": 1.5},
    ("type", "features as text"): {"num_features": "one"},
    ("type", "an outcome as text"): {"outcome": "classes"},
    ("type", "an outcome as a class"): {"outcome": pf.Real},
    ("type", "inputs as a pair"): {"inputs": (0, 1)},
}

CHECKS = {
    ("range", "one point"): {"num_points": 1},
    ("range", "a negative batch"): {"batch_size": -1},
    ("type", "points of 3.5"): {"num_points": 3.5},
    ("type", "points as text"): {"num_points": "many"},
    ("range", "a negative seed"): {"seed": -1},
    ("type", "no seed"): {"seed": None},
}


def checked_at_once() -> object:
    with ThreadPoolExecutor(2) as pool:
        reports = pool.map(lambda seed: pf.check_prior(GP, seed=seed), range(2))
        return [report.mean for report in reports]


def fitted_at_once() -> object:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda seed: fit(seed=seed).mean, range(2)))


CASES = [
    *(
        Case("check_prior (what a function returns)", *key, lambda f=f: pf.check_prior(drawn_by(f)), PRIOR)
        for key, f in FUNCTIONS.items()
    ),
    *(Case("check_prior", *key, lambda prior=prior: pf.check_prior(prior), INPUT) for key, prior in PRIORS.items()),
    *(Case("check_prior", *key, lambda some=some: pf.check_prior(GP, **some), INPUT) for key, some in CHECKS.items()),
    *(Case("@pf.prior", *key, lambda some=some: drawn_by(noise, **some), INPUT) for key, some in DECLARED.items()),
    *(Case("fit", *key, lambda prior=prior: fit(prior), INPUT) for key, prior in PRIORS.items()),
    *(Case("fit", *key, lambda some=some: fit(**some), gets) for key, (some, gets) in SETTINGS.items()),
    Case("fit", "NaN", "a prior of NaN", lambda: fit(drawn_by(lambda x: noise(x) * torch.nan)), PRIOR),
    Case("fit", "shape", "a prior of one axis too many", lambda: fit(drawn_by(lambda x: torch.randn(x.shape))), PRIOR),
    Case("fit", "range", "labels that are none", lambda: fit(drawn_by(noise, outcome=pf.Classes(2))), PRIOR),
    Case("fit", "concurrency", "two threads", fitted_at_once, RIGHT, lambda: [fit(seed=i).mean for i in range(2)]),
    Case(
        "check_prior",
        "concurrency",
        "two threads",
        checked_at_once,
        RIGHT,
        lambda: [pf.check_prior(GP, seed=i).mean for i in range(2)],
    ),
]


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_priors_and_settings(case: Case) -> None:
    check(case)
