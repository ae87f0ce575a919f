import json
import subprocess
import sys

import pytest
import torch
from forked import run_forked
from jaxtyping import TypeCheckError

from priorfit.data import Datasets

OPTIONAL = (
    *("beartype", "botorch", "catboost", "gpytorch", "hypothesis", "jax", "matplotlib", "numpyro", "onnx"),
    *("onnxruntime", "pandas", "pyro", "pytest", "scipy", "sklearn", "xgboost"),
)

# The time of what torch alone already loads is not ours. `jaxtyping`, `rich` and the like are.
MEASURE = f"""
import json, sys, time
begin = time.perf_counter(), time.process_time()
import torch
of_torch = max(time.perf_counter() - begin[0], time.process_time() - begin[1])
start = time.perf_counter()
cpu = time.process_time()
import priorfit
priorfit.fit  # loads all that is public
took = min(time.perf_counter() - start, time.process_time() - cpu)
loaded = [name for name in {OPTIONAL!r} if name in sys.modules]
print(json.dumps({{"share": took / of_torch, "loaded": loaded}}))
"""

MOST = 0.35
"""Of the time that torch takes to be imported by the same process, so that a busy machine changes little."""


def measured() -> dict[str, object]:
    """A fresh interpreter, warnings as errors for our own modules and all that they import."""
    command = [sys.executable, "-I", "-W", "error", "-c", MEASURE]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_import_loads_no_extra_warns_of_nothing_and_is_quick() -> None:
    shares = []
    for _ in range(4):  # the quickest of a few: a busy machine only ever makes it slower
        result = measured()
        assert result["loaded"] == []
        shares.append(result["share"])
        if shares[-1] <= MOST:
            return
    pytest.fail(f"`import priorfit` took {min(shares):.2f} of torch's own time beyond it; at most {MOST} is allowed.")


# Python's own generator is not looked at: rich draws from it when it is imported.
LEFT_ALONE = """
import numpy, torch
def state():
    return (torch.get_rng_state().tolist(), numpy.random.get_state()[1].tolist(), torch.get_default_dtype(),
            torch.get_num_threads(), torch.is_grad_enabled())
before = state()
import priorfit
priorfit.fit
assert state() == before
"""


SMALL_FIT = """
import sys, torch, priorfit as pf
network = pf.NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
model = pf.fit(pf.GaussianProcess(), num_points=4, steps=1, network=network, progress=False)
ppd = model.condition(torch.rand(3, 1), torch.rand(3)).predict(torch.rand(2, 1))
ppd.log_prob(torch.zeros(2)), ppd.icdf(torch.tensor(0.5)), ppd.cdf(torch.zeros(2)), ppd.sample((3,))
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
"""


def test_a_fit_and_a_prediction_need_neither_the_compiler_of_torch_nor_its_algebra() -> None:
    """Both take half a second to import, which every process would pay for nothing."""
    done = run_forked(SMALL_FIT)
    assert done.stdout == "[]\n", done.stderr


def test_importing_leaves_the_generators_and_defaults_alone() -> None:
    done = run_forked(LEFT_ALONE)
    assert done.returncode == 0, done.stderr


def test_shapes_are_checked_while_the_tests_run() -> None:
    with pytest.raises(TypeCheckError):
        Datasets(x=torch.zeros(2, 3, 1), y=[[0.0] * 3] * 2)  # pyright: ignore[reportArgumentType]
