"""Networks that the tests of the estimators share: of random weights, or trained for seconds."""

from dataclasses import replace
from typing import Literal

import torch

from priorfit.data import Classes
from priorfit.description import describe
from priorfit.network import PFN, ModelCard, NetworkSettings, Problem
from priorfit.network.heads.head import HeadSettings
from priorfit.network.problem import columns_of, fewest_features
from priorfit.priors import Binarized, GaussianProcess, NormalInputs, PaddedFeatures, Prior, Standardized, UniformInputs
from priorfit.priors.function import prior
from priorfit.seeding import seeded

TINY = NetworkSettings(width=16, layers=2, attention_heads=2, feedforward=16)
GP = GaussianProcess(num_features=6, lengthscale=2.0, noise=0.05, inputs=NormalInputs())
PADDED_REALS = PaddedFeatures(Standardized(GP), max_features=6)
PADDED_LABELS = PaddedFeatures(Binarized(GP), max_features=6)
UNIT_SQUARE = GaussianProcess(num_features=2, inputs=UniformInputs())


@prior(num_features=6, inputs=NormalInputs(), outcome=Classes(4))
def quarters(x: torch.Tensor) -> torch.Tensor:
    """Four classes: the signs of two random projections."""
    signs = (x @ torch.randn(len(x), x.shape[-1], 2)) > 0  # (batch, points, 2)
    return 2.0 * signs[..., 0] + signs[..., 1]


PADDED_QUARTERS = PaddedFeatures(quarters, max_features=6)


def random_model(
    prior: Prior,
    units: Literal["fixed", "free"] = "free",
    trained_context: tuple[int, int] | None = (0, 400),
    head: HeadSettings | None = None,
) -> PFN:
    """A network of random weights everywhere, with the card that training on a prior would give it."""
    description = describe(prior)
    problem = Problem(
        prior.num_features,
        prior.outcome,
        prior.inputs.range,
        min_features=fewest_features(description, prior.num_features),
        units=units,
        columns=columns_of(description),
    )
    card = ModelCard(name="random", prior=description, trained_context=trained_context)
    with seeded(0):
        model = PFN(replace(TINY, output=head), problem, card, target_sample=prior.sample(64, 20).y)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(0.3 * torch.randn_like(weight))
    return model.frozen()
