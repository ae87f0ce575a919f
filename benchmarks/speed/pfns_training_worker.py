"""Trains the published `pfns` package for some CPU seconds and answers questions; `pfns_peer` starts it.

One line of JSON in (`settings` of its network and loop, the GP or a file of draws of another prior, seconds, threads,
seed, two files), one out (steps,
datasets, both kinds of seconds, parameters). The loop is its own `pfns.train.train`, with its AdamW, its cosine
schedule, its sampler of context sizes, and its bar distribution with full support over borders from its own helper. The
answers are written as logits and borders, with its own loss at the drawn y beside them, by which the reader can check
the density.
"""

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pfns.batch_shape_sampler import BatchShapeSamplerConfig
from pfns.model.bar_distribution import BarDistributionConfig, get_bucket_borders
from pfns.model.encoders import EncoderConfig
from pfns.model.transformer_config import TransformerConfig
from pfns.optimizer import OptimizerConfig
from pfns.priors import Batch
from pfns.priors.prior import AdhocPriorConfig
from pfns.train import MainConfig, train

EPOCHS = 100
"""Its learning rate changes with the epoch: short ones make its schedule smooth."""
TIMED_STEPS = (20, 20, 120)
"""Steps of short runs: one warms up, and the difference of the other two is the cost of the steps between."""


class GaussianProcessPrior:
    """The GP of `priorfit quickstart`, as the package wants a prior: a function that draws a batch."""

    def __init__(self, lengthscale: float, noise: float) -> None:
        self.lengthscale, self.noise = lengthscale, noise

    def __call__(self, batch_size: int, seq_len: int, num_features: int = 1, **_: Any) -> Batch:
        """Datasets with inputs uniform on [0, 1], batch first."""
        x = torch.rand(batch_size, seq_len, num_features)
        scaled = x.double() / self.lengthscale
        square = (scaled[:, :, None] - scaled[:, None]).square().sum(-1)  # (batch, points, points)
        covariance = (-square / 2).exp() + self.noise * torch.eye(seq_len, dtype=torch.float64)
        white = torch.randn(batch_size, seq_len, 1, dtype=torch.float64)
        y = (torch.linalg.cholesky(covariance) @ white).float()  # (batch, points, 1)
        return Batch(x=x, y=y, target_y=y)


class DrawnPrior:
    """Draws of any prior, from a file, one after the other; from the start again when all have been used."""

    def __init__(self, file: str) -> None:
        draws = np.load(file)
        self.x, self.y, self.used = torch.from_numpy(draws["x"]), torch.from_numpy(draws["y"]), 0

    def __call__(self, batch_size: int, seq_len: int, **_: Any) -> Batch:
        """The next datasets, batch first."""
        rows = torch.arange(self.used, self.used + batch_size) % len(self.x)
        self.used += batch_size
        x, y = self.x[rows, :seq_len], self.y[rows, :seq_len, None]
        return Batch(x=x, y=y, target_y=y)


def config_of(
    request: dict[str, Any], prior: GaussianProcessPrior | DrawnPrior, borders: list[float], steps: int
) -> MainConfig:
    """The package's configuration, as its getting-started notebook has it, for about this many steps."""
    features = request.get("num_features", 1)
    settings, steps_per_epoch = request["settings"], max(1, round(steps / EPOCHS))
    epochs = max(1, round(steps / steps_per_epoch))
    return MainConfig(
        priors=[AdhocPriorConfig(get_batch_methods=[prior], prior_kwargs={"num_features": features})],
        optimizer=OptimizerConfig("adamw", lr=settings["lr"]),
        model=TransformerConfig(
            criterion=BarDistributionConfig(full_support=True, borders=borders),
            emsize=settings["emsize"],
            nhead=settings["nhead"],
            nhid=settings["nhid"],
            nlayers=settings["nlayers"],
            features_per_group=1,
            attention_between_features=False,
            encoder=EncoderConfig(constant_normalization_mean=0.5, constant_normalization_std=math.sqrt(1 / 12)),
        ),
        batch_shape_sampler=BatchShapeSamplerConfig(
            batch_size=settings["batch_size"],
            max_seq_len=request["num_points"],
            min_num_features=features,
            max_num_features=features,
            seed=request["seed"],
        ),
        epochs=epochs,
        warmup_epochs=epochs // 4,
        steps_per_epoch=steps_per_epoch,
        train_mixed_precision=False,  # bfloat16 on a CPU, which most of them emulate
        num_workers=0,
        verbose=False,
    )


def trained(request: dict[str, Any]) -> tuple[torch.nn.Module, dict[str, float]]:
    """A network trained for about the seconds of a processor asked for, and what that took."""
    drawn = request.get("draws")
    prior = DrawnPrior(drawn) if drawn else GaussianProcessPrior(request["lengthscale"], request["noise"])
    borders = get_bucket_borders(num_outputs=1_000, ys=prior(100_000, 20).target_y).tolist()

    def spent_on(steps: int) -> tuple[torch.nn.Module, MainConfig, float, float]:
        config, wall, cpu = config_of(request, prior, borders, steps), time.perf_counter(), time.process_time()
        model = train(config, device="cpu", reusable_config=False)["model"]
        return model, config, time.process_time() - cpu, time.perf_counter() - wall

    _, before, after = (spent_on(steps)[2] for steps in TIMED_STEPS)
    budget = request["seconds"] * request["threads"]
    steps = max(4, int(budget * (TIMED_STEPS[2] - TIMED_STEPS[1]) / max(after - before, after / 10)))
    model, config, cpu, wall = spent_on(steps)
    steps = config.epochs * config.steps_per_epoch
    return model, {
        "steps": steps,
        "datasets": steps * config.batch_shape_sampler.batch_size,
        "cpu_seconds": cpu,
        "seconds": wall,
        "parameters": sum(weight.numel() for weight in model.parameters()),
    }


@torch.no_grad()
def answers(model: torch.nn.Module, questions: dict[str, np.ndarray], size: str) -> dict[str, np.ndarray]:
    """Logits at the queries of one context size, and the package's own loss at the drawn y."""
    context_x, context_y, query_x, query_y = (
        torch.from_numpy(questions[f"{name}_{size}"]) for name in ("context_x", "context_y", "query_x", "query_y")
    )
    parts = zip(*(part.split(500) for part in (context_x, context_y, query_x)), strict=True)
    logits = torch.cat(
        [model(x=torch.cat([x, q], 1), y=y[..., None], only_return_standard_out=True) for x, y, q in parts]
    )
    loss = model.criterion(logits, query_y)
    return {f"logits_{size}": logits.numpy(), f"loss_{size}": loss.numpy()}


def main() -> None:
    """Train, answer, and say what it took."""
    replies, sys.stdout = sys.stdout, sys.stderr  # the package prints
    request = json.loads(sys.stdin.readline())
    torch.set_num_threads(request["threads"])
    torch.manual_seed(request["seed"])  # noqa: TID251  priorfit's seeding is not in this environment
    model, taken = trained(request)
    model.eval()
    questions = dict(np.load(request["questions"], allow_pickle=False))
    found = {"borders": model.criterion.borders.numpy()}
    for size in request["sizes"]:
        found |= answers(model, questions, str(size))
    np.savez(Path(request["answers"]), **found)
    print(json.dumps(taken), file=replies, flush=True)


if __name__ == "__main__":
    main()
