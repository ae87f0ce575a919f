"""What a hostile input is, and what it may get: the right answer, a warning with a finite one, or an error of ours."""

import atexit
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.exceptions import NotFittedError
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.distributions.class_probabilities import class_probs
from priorfit.errors import OutsideTrainingWarning, PriorfitError, TableWarning
from priorfit.network import PFN
from priorfit.zoo import load

RIGHT = "the right answer"
WARNED = "a finite answer and an `OutsideTrainingWarning`"
CHANGED = "a finite answer and a `TableWarning`"
NOT_FINITE = "NaN or infinity at that place alone, as of torch's own distributions"
LINE = "one line that begins with `error:`, and an exit code"
SKLEARN = "what scikit-learn's own checks say"

Ask = Callable[[], object]


class LineOfError(PriorfitError):
    """What the command line wrote in place of an answer."""


@dataclass(frozen=True)
class Case:
    """One wrong or unusual question to one entry point, what it gets, and the same question asked cleanly."""

    entry: str
    kind: str
    fault: str
    ask: Ask
    gets: str
    clean: Ask | None = None
    tolerance: float = 1e-3

    def __str__(self) -> str:
        return f"{self.entry}, {self.fault}"


def check(case: Case) -> None:
    """Ask, and hold what comes to what the case says."""
    found, answer = outcome(case.ask)
    assert found == case.gets, f"{case}: {answer!r}"
    if case.gets in (RIGHT, NOT_FINITE) and case.clean is not None:
        np.testing.assert_allclose(numbers(answer), numbers(case.clean()), rtol=case.tolerance, atol=case.tolerance)
    if isinstance(answer, Exception):
        assert len(str(answer)) > 20, "an error says what was expected, what came and what to do"


def outcome(ask: Ask) -> tuple[str, object]:
    """What a question gets, in the words of a case, with the answer or the error itself."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = ask()
        except LineOfError as error:
            return LINE, error
        except PriorfitError as error:
            return f"`{type(error).__name__}`", error
        except (ValueError, TypeError, NotFittedError) as error:
            return SKLEARN if is_of_sklearn(error) else f"a raw {type(error).__name__}", error
        except Exception as error:  # what no user should ever see
            return f"a raw {type(error).__name__}", error
    own = (OutsideTrainingWarning, TableWarning)
    strange = [warning for warning in caught if not issubclass(warning.category, own)]
    if strange and strange[0].category.__module__.startswith("sklearn"):
        return SKLEARN, answer
    if strange:
        return f"a {strange[0].category.__name__}: {strange[0].message}", answer
    if not np.isfinite(numbers(answer)).all():
        return NOT_FINITE, answer
    return told([warning.category for warning in caught]), answer


def told(categories: list[type[Warning]]) -> str:
    """What a finite answer is by its warnings."""
    if TableWarning in categories:
        return CHANGED
    return WARNED if categories else RIGHT


def is_of_sklearn(error: Exception) -> bool:
    """Whether an error was raised inside of scikit-learn."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and "sklearn" in trace.tb_frame.f_code.co_filename


def numbers(answer: object) -> np.ndarray:
    """The numbers of an answer: those of a distribution, a tensor, an array, or several of them."""
    if isinstance(answer, Categorical):
        return class_probs(answer).detach().double().numpy()
    if isinstance(answer, Distribution):
        return torch.stack([answer.mean, answer.variance]).detach().double().numpy()
    if isinstance(answer, Tensor):
        return answer.detach().double().numpy()
    if isinstance(answer, tuple | list):
        return np.concatenate([numbers(part).ravel() for part in answer]) if len(answer) else np.zeros(0)
    if isinstance(answer, float | int | np.ndarray) and np.asarray(answer).dtype.kind in "biuf":
        return np.asarray(answer, dtype=np.float64)
    return np.zeros(0)


@dataclass(frozen=True)
class Fault:
    """A form that numbers may come in; ``clean`` is what they mean, None where they mean nothing."""

    kind: str
    words: str
    spoil: Callable[[np.ndarray], object]
    gets: str = "`InputError`"
    clean: Callable[[np.ndarray], np.ndarray] | None = None


def same(values: np.ndarray) -> np.ndarray:
    """The numbers themselves."""
    return values


def first_replaced(value: object) -> Callable[[np.ndarray], list[object]]:
    """As a nested list whose first number is something else."""

    def spoilt(values: np.ndarray) -> list[object]:
        mixed = values.astype(object)
        mixed[(0,) * values.ndim] = value
        return mixed.tolist()

    return spoilt


def masked(values: np.ndarray) -> np.ndarray:
    mask = np.zeros(values.shape, dtype=bool)
    mask[(0,) * values.ndim] = True
    return np.ma.array(values, mask=mask)


def strided(values: np.ndarray) -> Tensor:
    """A view with gaps between the numbers."""
    return torch.tensor(np.repeat(values, 2, axis=0))[::2]


def tensor(dtype: torch.dtype) -> Callable[[np.ndarray], Tensor]:
    return lambda values: torch.tensor(values).to(dtype)


def frame(values: np.ndarray) -> object:
    return pd.DataFrame(values) if values.ndim == 2 else pd.Series(values)


def ragged(values: np.ndarray) -> list[object]:
    return [[0.5], [0.25, 0.75], *values.tolist()]


ROUND = np.round
DATE = np.datetime64("2026-01-01")

NUMBERS = (
    Fault("type", "a list", lambda v: v.tolist(), RIGHT, same),
    Fault("type", "a nested tuple", lambda v: tuple(map(tuple, v)) if v.ndim > 1 else tuple(v), RIGHT, same),
    Fault("type", "a frame or a series of pandas", frame, RIGHT, same),
    Fault("type", "a list of tensors", lambda v: list(torch.tensor(v)), RIGHT, same),
    Fault("type", "None", lambda v: None),
    Fault("type", "text", lambda v: "0.5, 0.5"),
    Fault("type", "bytes", lambda v: b"0.5"),
    Fault("type", "a dict", lambda v: {"x": v.tolist()}),
    Fault("type", "a set", lambda v: set(v.ravel().tolist())),
    Fault("type", "a generator", lambda v: (each for each in v.tolist())),
    Fault("type", "a function", lambda v: np.sin),
    Fault("type", "a class", lambda v: np.ndarray),
    Fault("dtype", "float16", tensor(torch.float16), RIGHT, lambda v: v.astype(np.float16).astype(float)),
    Fault("dtype", "bfloat16", tensor(torch.bfloat16), RIGHT, lambda v: torch.tensor(v).bfloat16().double().numpy()),
    Fault("dtype", "float32 of numpy", lambda v: v.astype(np.float32), RIGHT, same),
    Fault("dtype", "long double of numpy", lambda v: v.astype(np.longdouble), RIGHT, same),
    Fault("dtype", "big-endian numbers", lambda v: v.astype(">f8"), RIGHT, same),
    Fault("dtype", "int8", lambda v: tensor(torch.int8)(ROUND(v)), RIGHT, ROUND),
    Fault("dtype", "uint8", lambda v: ROUND(v).astype(np.uint8), RIGHT, ROUND),
    Fault("dtype", "int64", lambda v: ROUND(v).astype(np.int64), RIGHT, ROUND),
    Fault("dtype", "truth values", lambda v: ROUND(v).astype(bool), RIGHT, ROUND),
    Fault("dtype", "Python numbers as objects", lambda v: v.astype(object), RIGHT, same),
    Fault("dtype", "complex numbers of numpy", lambda v: v + 1j),
    Fault("dtype", "complex numbers of torch", tensor(torch.complex64)),
    Fault("dtype", "an array of text", lambda v: v.astype(str)),
    Fault("dtype", "dates", lambda v: np.full(v.shape, DATE)),
    Fault("dtype", "durations", lambda v: np.full(v.shape, DATE) - DATE),
    Fault("dtype", "a record array", lambda v: np.zeros(v.shape, dtype=[("a", float), ("b", float)])),
    Fault("dtype", "text among numbers", first_replaced("red")),
    Fault("dtype", "a dict among numbers", first_replaced({})),
    Fault("NaN", "NaN", lambda v: np.where(v == v.flat[0], np.nan, v)),
    Fault("NaN", "infinity", lambda v: np.where(v == v.flat[0], np.inf, v)),
    Fault("NaN", "minus infinity", lambda v: torch.tensor(np.where(v == v.flat[0], -np.inf, v))),
    Fault("NaN", "None among numbers", first_replaced(None)),
    Fault("NaN", "NA of pandas among numbers", first_replaced(pd.NA)),
    Fault("NaN", "a masked array", masked),
    Fault("shape", "rows of unequal length", ragged),
    Fault("size", "a view with gaps", strided, RIGHT, same),
    Fault("size", "an array in reverse order of memory", lambda v: v[::-1].copy()[::-1], RIGHT, same),
    Fault("size", "an array that is read-only", lambda v: np.broadcast_to(v, v.shape), RIGHT, same),
    Fault("size", "a tensor that needs a gradient", lambda v: torch.tensor(v, requires_grad=True), RIGHT, same),
    Fault("size", "a tensor without memory (meta)", lambda v: torch.tensor(v).to("meta")),
    Fault("size", "a sparse tensor", lambda v: torch.tensor(v).to_sparse()),
)
"""Forms of numbers that any function of numbers may be given."""


def crossed(
    entry: str,
    values: np.ndarray,
    ask: Callable[[object], object],
    other: dict[str, str] | None = None,
    without: Iterable[str] = (),
) -> list[Case]:
    """An entry point with each form of numbers in the place of ``values``; ``other`` says where it gets another end."""
    other = other or {}
    return [
        Case(
            entry,
            fault.kind,
            fault.words,
            lambda fault=fault: ask(fault.spoil(values)),
            other.get(fault.words, fault.gets),
            None if fault.clean is None else lambda clean=fault.clean: ask(clean(values)),
        )
        for fault in NUMBERS
        if fault.words not in without
    ]


@cache
def scratch() -> Path:
    """A folder of the tests' own."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def waves() -> PFN:
    """One column, real targets, units of its prior; inputs in [0, 1]."""
    return load("gp-rbf-1d")


@cache
def labels() -> PFN:
    """Three columns, two classes."""
    return load("bnn-small")


@cache
def tables() -> PFN:
    """One to ten columns, real targets in any units."""
    return load("tabular-regression-small")


X = np.array([[0.05], [0.2], [0.4], [0.55], [0.7], [0.9]])
Y = np.array([0.1, 0.35, 0.8, 0.6, 0.45, 0.2])
QUERY = np.array([[0.1], [0.5], [0.6], [0.8]])
