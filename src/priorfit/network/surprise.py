"""Did the prior draw this context? A p-value, from scores one step ahead."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Real
from priorfit.description import build
from priorfit.errors import InputError, RecipeError
from priorfit.network.answering import Answering
from priorfit.network.one_step_ahead import Ask, one_step_ahead, sequential_draws
from priorfit.network.summaries import FINDINGS, extremeness, share_below, summaries
from priorfit.priors import PRIORS, Mixture, Prior
from priorfit.seeding import seeded

Null = Literal["prior", "network"]
Draw = Callable[[Tensor], Tensor]
"""Inputs in, targets of one dataset for each of them out."""

DRAWS = 199
LEVEL = 0.05
"""Below it the words say that something is wrong."""


@dataclass(frozen=True)
class Surprise:
    """How surprising a context is to the prior; ``print`` it for a sentence.

    ``p_value`` is the share of draws that are at least as unlike the others as the data are: uniform if the prior drew
    the data, so that values below 0.05 come once in twenty times by chance. It has the batch shape of the context, and
    is never below ``1 / (draws + 1)``.

    >>> import priorfit as pf
    >>> x = torch.linspace(0, 1, 20)[:, None]
    >>> surprise = pf.load("gp-rbf-1d").condition(x, torch.sin(40 * x[:, 0])).surprise()
    >>> float(surprise.p_value), surprise.null, surprise.draws
    (0.005, 'prior', 199)
    """

    p_value: Float[Tensor, "*batch"]
    statistics: Mapping[str, Float[Tensor, "*batch"]]
    """For each summary, the share of the draws that are less extreme than the data."""
    findings: tuple[str, ...]
    """For each dataset, the name of the summary that is most extreme."""
    null: Null
    """Whether the draws are the prior's, or the network's own."""
    draws: int

    def __str__(self) -> str:
        if len(self.findings) != 1:
            low = int((self.p_value <= LEVEL).sum())
            return (
                f"{low} of {len(self.findings)} contexts have a p-value of at most {LEVEL:g} (chance: 1 in "
                f"{1 / LEVEL:g}), beside {self._drawn}. Do not trust the answers to those; see p_value and findings."
            )
        p_value = float(self.p_value)
        if p_value > LEVEL:
            return f"p = {p_value:.3g}: the data look like {self._drawn}. Nothing needs to be done."
        found, remedy = FINDINGS[self.findings[0]]
        return f"p = {p_value:.3g}: {found} than in {self._drawn}. {remedy}"

    @property
    def status(self) -> str:
        """One short line, for a page or a progress line: the p-value and, where it is low, what was found."""
        if len(self.findings) != 1 or float(self.p_value) > LEVEL:
            return f"surprise: p = {float(self.p_value.min()):.3g}"
        return (
            f"surprise: p = {float(self.p_value):.3g}, {FINDINGS[self.findings[0]][0]} than usual for the {self.null}"
        )

    @property
    def _drawn(self) -> str:
        return f"{self.draws} draws of the {self.null} at the same x"


def surprise_of(
    model: Answering,
    x: Float[Tensor, "datasets points features"],
    y: Num[Tensor, "datasets points"],
    prior: Prior | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Surprise:
    """How surprising contexts are to a network's prior; ``x`` and ``y`` are in the units of the prior.

    Where units are free, each dataset is standardised by its own mean and deviation first, and so is each draw.
    """
    if not isinstance(draws, int):
        raise InputError(f"draws must be a whole number; got {draws!r}.")
    known = prior_of(model) if prior is None else checked_prior(prior, model)
    check_classes(model, y)
    ask = asking(model)
    rows = [
        judged(ask, one_x, one_y, known, (draws, seed), own_units(model)) for one_x, one_y in zip(x, y, strict=True)
    ]
    return joined(rows, "network" if known is None else "prior", draws)


def check_classes(model: Answering, y: Num[Tensor, "datasets points"]) -> None:
    """Refuse more than two classes where answers know those of the context alone: the first points have seen few."""
    if model.problem.min_classes is not None and y.numel() and float(y.max()) >= model.problem.min_classes:
        raise InputError(
            f"surprise of this model takes {model.problem.min_classes} classes; got {1 + int(y.max())}. It predicts "
            "each row from those before it, and such an answer has the classes of those rows alone. Take one class "
            "against the others."
        )


def asking(model: Answering) -> Ask:
    """A network's answers in the units of its prior, without the checks and warnings of `PFN.condition`."""

    def ask(x: Tensor, y: Tensor, query_x: Tensor) -> Distribution:
        units = model.units_of(y)
        return units.to_user(model.answer(query_x, model.encoded(x, units.to_model(y))))

    return ask


def own_units(model: Answering) -> Draw:
    """How targets are shown to the test: as they are, or standardised where the model's units are free."""
    return (
        standardised
        if model.problem.units == "free" and isinstance(model.problem.outcome, Real)
        else torch.Tensor.clone
    )


def standardised(y: Float[Tensor, "datasets points"]) -> Float[Tensor, "datasets points"]:
    """Each dataset in units of its own mean and deviation; a constant is shifted only."""
    centred = y - y.mean(1, keepdim=True)
    spread = centred.square().mean(1, keepdim=True).sqrt()
    return centred / torch.where(spread > 0, spread, 1)


def prior_of(model: Answering) -> Prior | None:
    """The prior on a model's card, if targets at given inputs can be drawn from it."""
    try:
        prior = build(model.card.prior, PRIORS)
    except RecipeError:  # no description, or that of a function: a file holds no code
        return None
    return prior if draws_at_inputs(prior) else None


def draws_at_inputs(prior: Prior) -> bool:
    """Whether targets can be drawn for given inputs; a prior that draws labels first has its own inputs."""
    parts = prior.priors if isinstance(prior, Mixture) else (prior,)
    return not any(part.draws_own_inputs for part in parts)


def checked_prior(prior: Prior, model: Answering) -> Prior:
    """Refuse what is no prior, and one over other data than the model's."""
    if not isinstance(prior, Prior):
        raise InputError(f"surprise takes a prior, such as GaussianProcess(); got {prior!r}.")
    if (prior.outcome, prior.num_features) != (model.problem.outcome, model.problem.num_features):
        raise InputError(
            f"this model is for {model.problem.num_features} feature(s) and {model.problem.outcome}; the prior has "
            f"{prior.num_features} and {prior.outcome}. Pass the prior that the model was trained on."
        )
    if not draws_at_inputs(prior):
        raise InputError(
            f"a {type(prior).__name__} draws its own inputs, and no targets for those of the data. Leave prior out: "
            "the network's own draws take its place."
        )
    return prior


@dataclass(frozen=True)
class Judged:
    """What was found about one dataset."""

    p_value: float
    statistics: dict[str, float]
    finding: str


@torch.no_grad()
def judged(
    ask: Ask,
    x: Float[Tensor, "points features"],
    y: Num[Tensor, " points"],
    prior: Prior | None,
    draws_and_seed: tuple[int, int],
    units: Draw,
) -> Judged:
    """Compare one dataset with draws at the same inputs."""
    draws, seed = draws_and_seed
    if not len(y) or draws < 1:
        raise InputError(
            f"surprise needs a context of at least one point and one draw; got {len(y)} point(s) and {draws} draw(s). "
            "An empty context is the prior itself: there is nothing to be surprised at."
        )
    place = canonical_order(x)
    # one stream for each dataset, whatever batch it comes in: draws are shared by no two of them
    with seeded(seed, zlib.crc32(numbers(x[place]).tobytes()), zlib.crc32(numbers(y[place]).tobytes())):
        order = place[torch.randperm(len(place))]
        x, y = x[order], y[order]
        same_x = x.expand(draws, *x.shape)
        drawn = sequential_draws(ask, same_x) if prior is None else prior.targets(same_x.cpu().float()).to(y)
        all_x, all_y = x.expand(draws + 1, *x.shape), units(torch.cat([y[None], drawn]))
        found = summaries(one_step_ahead(ask, all_x, all_y), ask, all_x, all_y)
        return ranked(found)


def numbers(values: Tensor) -> Float[np.ndarray, "..."]:
    """The values as an array of float64."""
    return values.detach().cpu().double().numpy()


def canonical_order(x: Float[Tensor, "points features"]) -> Int[Tensor, " points"]:
    """The points by their inputs, so that the order in which they were given does not matter."""
    return torch.from_numpy(np.lexsort(numbers(x).T[::-1])).to(x.device)


def ranked(found: Mapping[str, Float[Tensor, " datasets"]]) -> Judged:
    """The p-value of the first dataset among all: ranks of what is most extreme in each, ties in random order."""
    each = torch.stack([extremeness(values) for values in found.values()])  # (summaries, datasets)
    most = each.amax(0)
    above, ties = int((most[1:] > most[0]).sum()), int((most[1:] == most[0]).sum())
    p_value = (1 + above + int(torch.randint(ties + 1, ()))) / len(most)
    statistics = {name: share_below(values) for name, values in found.items()}
    first = each[:, 0].floor()  # of summaries that are as extreme, the broadest: it comes first
    return Judged(p_value, statistics, list(found)[int((first == first.max()).int().argmax())])


def joined(rows: list[Judged], null: Null, draws: int) -> Surprise:
    """The datasets of a batch as one."""
    names = list(rows[0].statistics) if rows else list(FINDINGS)
    return Surprise(
        torch.tensor([row.p_value for row in rows], dtype=torch.float64),
        {name: torch.tensor([row.statistics[name] for row in rows], dtype=torch.float64) for name in names},
        tuple(row.finding for row in rows),
        null,
        draws,
    )
