"""Simulation-based calibration of each latent: the levels at which true latents come must be uniform."""

import math

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical, Distribution

from priorfit.network import PFN
from priorfit.priors import Prior
from priorfit.seeding import seeded
from priorfit.verify.calibration import kolmogorov_distance
from priorfit.verify.check import TRAIN, Check, advised, graded

NUM_DATASETS = 500
"""Datasets whose latents are compared with their posteriors."""


def latent_checks(model: PFN, prior: Prior, num_context: int, seed: int) -> list[Check]:
    """One line for each latent that model and prior name: calibration, and what the data tell of it."""
    if model.latent_parts is None or not prior.latents:
        return []
    with seeded(seed, num_context, 3):
        tasks = prior.sample(NUM_DATASETS, num_context + 1).split(num_context)
    posterior = model.condition(tasks.context_x, tasks.context_y).latents
    names = [latent.name for latent in prior.latents if latent.name in posterior]
    return [_check(name, posterior[name], tasks.latents[name], num_context, seed) for name in names]


def _check(name: str, law: Distribution, drawn: Float[Tensor, "datasets size"], num_context: int, seed: int) -> Check:
    values = drawn.double() if len(law.batch_shape) > 1 else drawn[:, 0].double()
    with seeded(seed, 4):
        levels = _levels(law, values)
    distance = max(kolmogorov_distance(column) for column in levels.reshape(len(drawn), -1).T)
    count = math.prod(levels.shape[1:])
    chance = (1.73 + math.sqrt(math.log(count) / 2)) / math.sqrt(len(drawn))  # the largest of several numbers
    score = float(law.log_prob(values).mean())
    verdict = graded(distance, good=max(chance, 0.03), doubtful=max(1.5 * chance, 0.1))
    words = (
        f"The levels at which true values came are uniform to within {distance:.3f} (chance alone gives up to "
        f"{chance:.3f} with {len(drawn):,} datasets); mean log score {score:+.2f}."
    )
    numbers = {"distance": distance, "chance": chance, "log_score": score}
    return Check(f"latent {name} at n = {num_context}", verdict, advised(words, verdict, TRAIN), numbers)


def _levels(law: Distribution, values: Float[Tensor, "datasets *size"]) -> Float[Tensor, "datasets *size"]:
    """The cdf at each true value; of classes a uniform level within the step."""
    if not isinstance(law, Categorical):
        return law.cdf(values)
    total = law.probs.double().cumsum(-1)
    label = values.long()[..., None]
    step = law.probs.double().gather(-1, label)[..., 0]
    return total.gather(-1, label)[..., 0] - torch.rand(values.shape).double() * step
