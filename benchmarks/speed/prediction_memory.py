"""How much memory one large prediction takes; `predict_latency --memory` starts it as a process of its own.

python benchmarks/speed/prediction_memory.py 100000 2000      queries, context; prints one line of JSON, in MB
"""

import json
import resource
import sys
from pathlib import Path

import torch

from priorfit.data import Real
from priorfit.network import PFN, LinearEncoder, NetworkSettings, Problem, RiemannHead
from priorfit.seeding import seeded

MEGABYTE = 2**20
FEATURES = 5
SETTINGS = NetworkSettings(
    width=256,
    layers=6,
    attention_heads=4,
    feedforward=512,
    encoder=LinearEncoder(),
    output=RiemannHead(num_buckets=1000),
)


def untrained_model(settings: NetworkSettings, seed: int) -> PFN:
    """A network for use; time and memory do not depend on what it has learned."""
    with seeded(seed):
        return PFN(settings, Problem(FEATURES, Real()), target_sample=torch.randn(500, 20)).frozen()


def peak_bytes() -> int:
    """The largest resident memory of this process so far."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    # getrusage would remember the process that started this one
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def memory_of_prediction(num_queries: int, num_context: int) -> dict[str, float]:
    """Megabytes: of the answer, of the process at its largest, before the prediction, and beyond the answer."""
    model = untrained_model(SETTINGS, seed=0)
    posterior = model.condition(torch.rand(num_context, FEATURES), torch.randn(num_context))
    query_x = torch.rand(num_queries, FEATURES)
    before = peak_bytes()
    ppd = posterior.predict(query_x)
    peak = peak_bytes()
    answer = ppd.logits.untyped_storage().nbytes()
    return {
        "queries": num_queries,
        "context": num_context,
        "answer": answer / MEGABYTE,
        "before": before / MEGABYTE,
        "peak": peak / MEGABYTE,
        "beyond_answer": (peak - answer) / MEGABYTE,
    }


if __name__ == "__main__":
    print(json.dumps(memory_of_prediction(int(sys.argv[1]), int(sys.argv[2]))))
