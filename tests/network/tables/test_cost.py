"""What a large table costs, in a process of its own: memory is counted from its start."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, time
import torch
torch.set_num_threads(1)
import priorfit as pf
recipe = pf.read_recipe({recipe!r})
problem = pf.Problem(100, pf.Classes(10), min_features=1, units="free", missing=True, min_classes=2)
model = recipe.network.build(problem).frozen()
torch.manual_seed(0)
context, queries = torch.randn(500, 100), torch.randn(500, 100)
started = time.process_time()
probs = model.condition(context, torch.arange(500) % {classes}).predict(queries).probs
took = time.process_time() - started
assert probs.shape == (500, {classes}) and bool(probs.isfinite().all())
print(took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""

SECONDS = 20.0
"""The aim is 5 s of two quiet cores. One thread takes 7.3 s of processor time on the machine that trains the models."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
@pytest.mark.parametrize(("classes", "gigabytes"), [(2, 2.0), (10, 4.0)])
def test_500_rows_of_100_columns_and_500_queries_are_answered_in_seconds_and_little_memory(classes, gigabytes, request):
    script = SCRIPT.format(recipe=str(request.config.rootpath / "recipes" / "tabular.toml"), classes=classes)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr
    seconds, used = map(float, done.stdout.split())
    assert seconds < SECONDS * classes / 2
    assert used < gigabytes
