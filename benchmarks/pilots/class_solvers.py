"""The closed form that is the better first guess for K classes: probit one against the rest, or ridge on labels.

    python benchmarks/pilots/class_solvers.py [--steps 300] [--threads 1]

Networks of the default size with a solver in front, and one without, are trained for the same number of steps on three
priors (3 classes in rings, 7 classes of a linear network, 4 of a tanh network). Printed: NLL of 8 queries of 400
datasets at n = 5, 20, 50 (seed 0), minus that of the plain transformer, paired, and seconds a step. Rows are kept.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import priorfit as pf
from benchmarks.common.kept_rows import KeptRows
from benchmarks.common.report import RESULTS
from benchmarks.pilots.own_priors import rings
from priorfit.network import ClassSolver, NetworkSettings, Problem, SolverSettings
from priorfit.network.encoders.inputs import InputEncoder
from priorfit.network.heads.defaults import default_output
from priorfit.network.heads.head import HeadSettings
from priorfit.network.solver.features import FeatureSolver, FeaturesSolved, LearnedFeatures, log_ladder
from priorfit.network.solver.gaussian import solve
from priorfit.network.solver.solver import FirstGuess, Solver
from priorfit.priors import Prior
from priorfit.seeding import seeded

ROWS = RESULTS / "class_solvers.jsonl"
SIZES, DATASETS, QUERIES, SEED = (5, 20, 50), 400, 8, 0
PRIORS: dict[str, Prior] = {
    "rings, 3 classes": rings,
    "linear network, 7 classes": pf.BayesianNetwork(num_features=3, outcome=pf.Classes(7)),
    "tanh network, 4 classes": pf.BayesianNetwork(num_features=3, activation="tanh", outcome=pf.Classes(4)),
}


@dataclass(frozen=True)
class RidgeOnLabels(SolverSettings):
    """Bayesian linear regression on one-hot labels: one factorisation for all classes."""

    features: int = 16
    components: int = 2
    hidden: int = 64
    evidence_weight: float = 0.0

    def build(self, problem: Problem, encoder: InputEncoder) -> Solver:
        """See `SolverSettings.build`."""
        encoded = encoder.build(problem.num_features, self.hidden, problem.input_range)
        return Ridge(encoded, (self.components, self.features, self.hidden), problem.outcome.count)

    def output_for(self, problem: Problem, output: HeadSettings | None) -> HeadSettings:
        """See `SolverSettings.output_for`."""
        return output or default_output(problem.outcome)


class Ridge(FeatureSolver):
    """The module of `RidgeOnLabels`: class scores are posterior means of +-1 labels over the predictive deviation."""

    def __init__(self, encoder: nn.Module, sizes: tuple[int, int, int], count: int) -> None:
        super().__init__()
        self.count = count
        self.features = LearnedFeatures(encoder, sizes, log_ladder((1.0, 5.0), sizes[0], alone=0.5))
        self.log_sharpness = nn.Parameter(torch.tensor(1.0))
        self.num_numbers, self.memory_per_query = 2 * sizes[0] + 2, 6 * sizes[0] * sizes[1] + sizes[2]

    def condition(self, x: Tensor, y: Tensor) -> FeaturesSolved:
        """See `Solver.condition`."""
        labels = torch.arange(self.count)[:, None]
        values = torch.where(y[:, None] == labels, 1.0, -1.0).repeat(1, self.features.components, 1)
        solution, left_out = solve(self.phi(x), values)
        return FeaturesSolved(self, solution, left_out, solution.log_evidence.unflatten(1, (-1, self.count)).sum(-1))

    def phi(self, x: Tensor) -> Tensor:
        """See `FeatureSolver.phi`."""
        return self.features.phi(x, torch.float32).repeat_interleave(self.count, dim=1)

    def guess(self, mean: Tensor, variance: Tensor, log_evidence: Tensor) -> FirstGuess:
        """See `FeatureSolver.guess`."""
        scores = (mean / (1 + variance).sqrt()).unflatten(1, (-1, self.count))
        log_probs = (self.log_sharpness.exp() * scores).log_softmax(2)
        log_weights = log_evidence.log_softmax(1)[..., None]
        logits = (log_probs + log_weights[..., None]).logsumexp(1).mT
        ppd = Categorical(logits=logits, validate_args=False)
        unsure = variance.log1p().unflatten(1, (-1, self.count)).mean(2) / 2
        weights = log_weights.clamp_min(-20.0).expand_as(unsure) / 4
        features = torch.cat([unsure, weights, logits.amax(-1)[:, None], ppd.entropy()[:, None]], dim=1).mT
        return FirstGuess(ppd, features)


WAYS: dict[str, SolverSettings | None] = {
    "plain transformer": None,
    "probit, one against the rest": ClassSolver(),
    "ridge on labels": RidgeOnLabels(),
}


def found(prior: Prior, solver: SolverSettings | None, steps: int) -> dict[str, Any]:
    """The NLL of each dataset after a training, and its seconds a step."""
    settings = NetworkSettings(solver=solver)
    model = pf.fit(prior, num_points=64, steps=steps, seed=SEED, network=settings, progress=False)
    losses: list[float] = []
    for size in SIZES:
        with seeded(SEED, 4_000_000, size):
            tasks = prior.sample(DATASETS, size + QUERIES).split(size)
        with torch.no_grad():
            ppd = model.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
        losses += (-ppd.log_prob(tasks.query_y).mean(-1)).tolist()
    return {"losses": [round(loss, 5) for loss in losses], "seconds": model.card.training["seconds"] / steps}


def main() -> None:
    """Fill in the rows that are missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    kept = KeptRows(ROWS, SEED)
    print("| prior | solver | seconds a step | NLL | minus that of the plain transformer |\n" + "| --- " * 5 + "|")
    for name, prior in PRIORS.items():
        plain = torch.zeros(())
        for way, solver in WAYS.items():
            key = {"prior": name, "way": way, "steps": options.steps}
            row = kept.get(key, lambda prior=prior, solver=solver: found(prior, solver, options.steps))
            nll = torch.tensor(row["losses"])
            plain = nll if solver is None else plain
            difference = nll - plain
            paired = (
                "" if solver is None else f"{difference.mean():+.4f} ± {1.96 * difference.std() / len(nll) ** 0.5:.4f}"
            )
            print(f"| {name} | {way} | {row['seconds']:.2f} | {nll.mean():.4f} | {paired} |", flush=True)


if __name__ == "__main__":
    main()
