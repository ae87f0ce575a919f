"""Takes training steps and predictions of one checkout on request; `old_and_new` starts one for each checkout.

One line of JSON in, one out: a subject and an action ("train" or "predict"), answered by the processor seconds of one
step, or of one `condition` and `predict`, and by the mean of the loss or of the answers. Only names that every checkout
has are imported. The released models are trained on from their weights by the recipe of the checkout.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

import priorfit as pf
from priorfit.network import PFN, LinearEncoder, NetworkSettings, Problem
from priorfit.seeding import seeded
from priorfit.training import Budget, DataSettings, Recipe, read_recipe
from priorfit.training.trainer import Trainer

ROOT = Path(pf.__file__).parents[2]
PLAIN = "plain transformer"
CONTEXT, QUERIES = 50, 500


def recipe_of(subject: str) -> Recipe:
    """The recipe of a released model, or that of the transformer without a solver."""
    if subject != PLAIN:
        return read_recipe(ROOT / "recipes" / f"{subject}.toml")
    network = NetworkSettings(width=128, layers=4, feedforward=256, encoder=LinearEncoder())
    data = DataSettings(batch_size=32)
    return Recipe(
        pf.GaussianProcess(num_features=5), num_points=101, budget=Budget(steps=1000), network=network, data=data
    )


def network_of(subject: str, recipe: Recipe) -> PFN:
    """The released weights, or random ones."""
    if subject != PLAIN:
        return pf.load(subject)
    prior = recipe.prior
    with seeded(0):
        problem = Problem(prior.num_features, prior.outcome, prior.inputs.range)
        return PFN(recipe.network, problem, target_sample=prior.sample(2_000, 20).y)


class Subject:
    """A network to predict with, and one to train."""

    def __init__(self, name: str) -> None:
        recipe = recipe_of(name)
        self.network = network_of(name, recipe).eval()
        self.trainer = Trainer(network_of(name, recipe).train().requires_grad_(True), recipe, steps=1000)
        with seeded(1):
            self.tasks = recipe.prior.sample(1, CONTEXT + QUERIES).split(CONTEXT)

    def train(self) -> float:
        """The loss of one more step: draw, forward and backward pass, update."""
        return self.trainer.take_step().loss

    def predict(self) -> float:
        """The mean log density of the answers to a context and its queries."""
        with torch.no_grad():
            ppd = self.network.condition(self.tasks.context_x, self.tasks.context_y).predict(self.tasks.query_x)
            return ppd.log_prob(self.tasks.query_y).mean().item()


def timed(action: Callable[[], float]) -> dict[str, float]:
    """Processor seconds of a call, and what it gave."""
    start = time.process_time()
    value = action()
    return {"seconds": time.process_time() - start, "value": value}


def main() -> None:
    """Answer requests until there are no more."""
    replies, sys.stdout = sys.stdout, sys.stderr  # a warning must not get between the answers
    torch.set_num_threads(1)
    subjects: dict[str, Subject] = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["subject"]
        subjects[name] = subjects.get(name) or Subject(name)
        action = {"train": subjects[name].train, "predict": subjects[name].predict}[request["action"]]
        print(json.dumps(timed(action)), file=replies, flush=True)


if __name__ == "__main__":
    main()
