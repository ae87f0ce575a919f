"""Networks for tables of random weights, and tables to ask them about, that the tests of this folder share."""

import math

import torch
from torch.distributions import Categorical

from priorfit.data import Classes, Outcome, Real
from priorfit.network import Problem, TableNetwork, TableSettings
from priorfit.network.posterior import PFNPosterior
from priorfit.seeding import seeded

TINY = TableSettings(width=16, layers=2, attention_heads=2, feedforward=24, sinks=3)
OUTCOMES = {"classes": Classes(10), "reals": Real()}


def problem_for(outcome: Outcome) -> Problem:
    """What training on a prior of tables would say."""
    classes = 2 if isinstance(outcome, Classes) else None
    return Problem(12, outcome, min_features=1, units="free", missing=True, min_classes=classes)


def shaken(outcome: Outcome, settings: TableSettings = TINY) -> TableNetwork:
    """A network of random weights everywhere: as built, its blocks are identities and its answers constant."""
    with seeded(0):
        model = settings.build(problem_for(outcome))
        for weight in model.parameters():
            weight.data.add_(0.2 * torch.randn_like(weight))
    return model.frozen()


def table(
    seed: int, rows: int = 24, columns: int = 5, batch: tuple[int, ...] = ()
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Inputs of a context with ties and missing values, real targets for them, and nine queries; in float64."""
    with seeded(seed):
        x = torch.randn(*batch, rows + 9, columns, dtype=torch.float64)
        x[..., ::2] = (2 * x[..., ::2]).round() / 2
        x[torch.rand(x.shape) < 0.15] = math.nan
        y = torch.randn(*batch, rows, dtype=torch.float64)
    return x[..., :rows, :], y, x[..., rows:, :]


def labels_of(y: torch.Tensor, count: int) -> torch.Tensor:
    """Classes by the order of real targets: each comes as often as the others, but for one row."""
    return y.argsort(-1).argsort(-1) % count


def targets_for(model: TableNetwork, y: torch.Tensor, count: int = 3) -> torch.Tensor:
    """Real targets as they are, or classes made of them."""
    return labels_of(y, count) if isinstance(model.problem.outcome, Classes) else y


def numbers_of(posterior: PFNPosterior, query_x: torch.Tensor) -> torch.Tensor:
    """What an answer says: probabilities, or mean, deviation and the distribution function at some places."""
    ppd = posterior.predict(query_x)
    if isinstance(ppd, Categorical):
        return ppd.probs
    places = torch.linspace(-2, 2, 5, dtype=torch.float64)
    return torch.stack([ppd.mean, ppd.stddev, *(ppd.cdf(place) for place in places)], dim=-1)
