"""Every head with an outcome that it serves, and with guesses that it corrects: a new one is a new line here."""

import torch
from torch.distributions import Categorical, Distribution, Normal

from priorfit.data import Classes, Outcome, Real
from priorfit.distributions import NormalMixture
from priorfit.network import (
    CorrectedMixtureHead,
    HeadSettings,
    NormalHead,
    NormalMixtureHead,
    RiemannHead,
    SigmoidHead,
    SoftmaxHead,
    TemperedHead,
)
from priorfit.seeding import seeded

HEADS: dict[str, tuple[HeadSettings, Outcome]] = {
    "smooth riemann": (RiemannHead(num_buckets=40), Real()),
    "plain riemann": (RiemannHead(num_buckets=40, shape="plain"), Real()),
    "bounded riemann": (RiemannHead(num_buckets=40, tails="none"), Real()),
    "normal": (NormalHead(), Real()),
    "mixture of normals": (NormalMixtureHead(components=5), Real()),
    "sigmoid": (SigmoidHead(), Classes(2)),
    "softmax": (SoftmaxHead(), Classes(4)),
    "tempered": (TemperedHead(), Classes(4)),
}

with seeded(0):
    ONE = Normal(3 * torch.randn(3, 7, dtype=torch.float64), torch.rand(3, 7, dtype=torch.float64) + 0.01)
    SOME = NormalMixture(
        torch.randn(3, 7, 4, dtype=torch.float64),
        5 + 3 * torch.randn(3, 7, 4, dtype=torch.float64),
        torch.rand(3, 7, 4, dtype=torch.float64) + 0.1,
    )
    TWO = Categorical(logits=4 * torch.randn(3, 7, 2, dtype=torch.float64))
    FOUR = Categorical(logits=4 * torch.randn(3, 7, 4, dtype=torch.float64))

GUIDED: dict[str, tuple[HeadSettings, Outcome, Distribution]] = {
    "smooth riemann": (*HEADS["smooth riemann"], ONE),
    "plain riemann": (*HEADS["plain riemann"], ONE),
    "bounded riemann": (*HEADS["bounded riemann"], SOME),
    "normal": (NormalHead(), Real(), ONE),
    "mixture of normals": (NormalMixtureHead(components=5), Real(), ONE),
    "mixture of normals, mixture": (NormalMixtureHead(components=5), Real(), SOME),
    "corrected mixture": (CorrectedMixtureHead(components=4), Real(), SOME),
    "sigmoid": (SigmoidHead(), Classes(2), TWO),
    "softmax, two classes": (SoftmaxHead(), Classes(2), TWO),
    "softmax": (SoftmaxHead(), Classes(4), FOUR),
}
"""Heads with a guess of 3 datasets and 7 queries."""

ITSELF = ("normal", "mixture of normals", "corrected mixture", "sigmoid", "softmax, two classes", "softmax")
"""Those that leave their guess as it is where the network adds nothing; of the others, bars approximate a Normal."""
