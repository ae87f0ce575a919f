"""Networks of random weights, and questions to them, that the tests of networks share."""

import torch

from priorfit.network import PFN, ModelCard, NetworkSettings, Problem, RiemannHead
from priorfit.seeding import seeded

SMALL = NetworkSettings(width=32, layers=3, attention_heads=2, feedforward=48, output=RiemannHead(num_buckets=20))


def shaken(settings: NetworkSettings, problem: Problem, card: ModelCard | None = None) -> PFN:
    """A network of random weights everywhere: as built, its blocks are identities."""
    with seeded(0):
        model = PFN(settings, problem, card, target_sample=2 + 3 * torch.randn(400, 20))
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(0.2 * torch.randn_like(weight))
    return model.double().frozen()


def questions(n: int = 7, m: int = 5, batch: tuple[int, ...] = (3,)) -> tuple[torch.Tensor, ...]:
    with seeded(1):
        x = torch.rand(*batch, n + m, 2, dtype=torch.float64)
        y = 2 + 3 * torch.randn(*batch, n, dtype=torch.float64)
    return x[..., :n, :], y, x[..., n:, :]
