import os
import warnings
from contextlib import suppress
from importlib import import_module

import jaxtyping
import pytest
import remembered_checks
from hypothesis import settings

# Some virtual machines name AMX and do not have it: torch's products in bfloat16 then end the process.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

remembered_checks.install()  # before anything of priorfit is imported

# The same examples each run, and no verdict by the clock: machines of CI are slow and noisy.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")

BEFOREHAND = ("botorch", "catboost", "jax", "numpyro", "pyro", "sklearn.ensemble", "typer", "xgboost")
"""Packages that a worker of the whole suite needs anyway. What a module of priorfit is the first to import, jaxtyping's
hook would compile anew in every process: two thousand modules, four seconds."""

if "PYTEST_XDIST_WORKER" in os.environ:
    for package in BEFOREHAND:
        with suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module(package)


@pytest.fixture
def as_users_run_it():
    """Without the shape checks of the tests, which would speak before the library does, and double its time."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def few_surprises(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small check of `surprise` in `verify`, for tests of other checks: it takes most of the time of a report."""
    monkeypatch.setattr(import_module("priorfit.verify.surprises"), "NUM_DATASETS", 4)  # verify itself is a function


@pytest.fixture
def few_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons of `verify` with importance sampling on two datasets a context size, in place of more."""
    accuracy = import_module("priorfit.verify.accuracy")
    monkeypatch.setattr(accuracy, "SAMPLED_SHARE", 0.0)
    monkeypatch.setattr(accuracy, "FEWEST", 2)


MOST_STEPS = 3
"""Steps of a training that is not the point of its test."""


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short trainings by `fit` and `finetune`, and few cells of programs, for code that must run, however rough."""
    monkeypatch.setattr(import_module("priorfit.training.defaults"), "CELLS", (64,))
    budget = import_module("priorfit.training.recipe").Budget

    def shortened(steps: int | None = None, minutes: float | None = None) -> object:
        return budget(steps=min(steps, MOST_STEPS)) if steps else budget(steps=steps, minutes=minutes)

    for name in ("fit", "finetuning"):
        monkeypatch.setattr(import_module(f"priorfit.training.{name}"), "Budget", shortened)
