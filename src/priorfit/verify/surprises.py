"""The check that p-values of `PFNPosterior.surprise` are uniform on the prior's own datasets."""

import math

import torch

from priorfit.network import PFN
from priorfit.network.surprise import asking, draws_at_inputs, judged, own_units
from priorfit.priors import Prior
from priorfit.seeding import seeded
from priorfit.verify.calibration import kolmogorov_distance
from priorfit.verify.check import Check, advised, graded

NUM_DATASETS, DRAWS, MOST_POINTS = 25, 39, 8
"""Few and small datasets, since each is compared with many draws of the prior."""


def surprise_check(model: PFN, prior: Prior, num_context: int, seed: int) -> Check:
    """Check that p-values of the prior's own datasets are uniform.

    Otherwise `targets` and `sample` of the prior draw from different distributions.
    """
    question, points = "surprise on data of the prior", min(max(num_context, 1), MOST_POINTS)
    if not draws_at_inputs(prior):
        words = "This prior draws its own inputs. Read surprise() beside the network's own draws."
        return Check(question, "not checked", words)
    ask, units = asking(model), own_units(model)
    with seeded(seed, 2):
        data = prior.sample(NUM_DATASETS, points)
    pairs = zip(data.x, data.y, strict=True)
    found = [judged(ask, x, y, prior, (DRAWS, seed), units).p_value for x, y in pairs]
    distance = kolmogorov_distance(torch.tensor(found))
    chance = 1.73 / math.sqrt(NUM_DATASETS) + 1 / (DRAWS + 1)  # exceeded once in 200 times; values come in steps
    verdict = graded(distance, good=chance, doubtful=1.5 * chance)
    words = (
        f"P-values of {NUM_DATASETS} datasets of {points} points are uniform to within {distance:.2f} (chance alone "
        f"gives up to {chance:.2f})."
    )
    advice = (
        "Do not rely on surprise() here: the prior's targets at given x differ from those that come with its own x."
    )
    return Check(question, verdict, advised(words, verdict, advice), {"distance": distance, "chance": chance})
