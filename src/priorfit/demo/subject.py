"""A model as the page shows it: its window, and the reference that it is compared with."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.baselines.exact import exact_or_none
from priorfit.baselines.exact.hyper_gp_oracle import HyperGPOracle
from priorfit.baselines.exact.program_oracle import ProgramOracle
from priorfit.data import Classes, Real
from priorfit.description import build
from priorfit.errors import InputError, RecipeError
from priorfit.network import Model
from priorfit.predictor import Predictor
from priorfit.priors import PRIORS, HyperGaussianProcess, Prior
from priorfit.zoo import load, names

Range = tuple[float, float]

NUM_QUERIES, NUM_VALUES = 121, 201
"""Columns and rows of the heat map."""
FIRST = "gp-rbf-1d-short"
"""The released model that the page opens with, if it exists: points set by hand are likely under it."""
UNKNOWN_RANGE = (-3.0, 3.0)
"""Range of the inputs that are shown for a model whose inputs have no bounds."""
ORACLE_SAMPLES = 2_000


@dataclass(frozen=True)
class Reference:
    """The predictor that the network is compared with."""

    name: str
    predictor: Predictor
    is_slow: bool
    """Whether it takes too long to answer at once."""


@dataclass(frozen=True)
class Subject:
    """A model of one feature and real targets, the window that the page shows of it, and its reference."""

    name: str
    model: Model
    x_range: Range
    y_range: Range
    reference: Reference | None

    @cached_property
    def query_x(self) -> Float[Tensor, "query 1"]:
        """The middles of the heat map's columns."""
        edges = torch.linspace(*self.x_range, NUM_QUERIES + 1)
        return ((edges[:-1] + edges[1:]) / 2)[:, None]

    @cached_property
    def value_edges(self) -> Float[Tensor, " edges"]:
        """The edges of the heat map's rows."""
        return torch.linspace(*self.y_range, NUM_VALUES + 1)

    @property
    def trained_context(self) -> tuple[int, int] | None:
        """The smallest and the largest context size of the training."""
        return self.model.card.trained_context

    @property
    def prior_words(self) -> str:
        """The prior in one line.

        >>> subject_of("some", load("gp-rbf-1d")).prior_words
        'GaussianProcess: kernel rbf, lengthscale 0.6, outputscale 1, noise 0.0001'
        """
        described = dict(self.model.card.prior)
        kind = described.pop("type", None)
        if kind is None:
            return "a prior that its card does not tell"
        hidden = {"num_features", "jitter", "source"}
        words = [
            f"{name.removesuffix('_prior').replace('_', ' ')} {_words(value)}"
            for name, value in described.items()
            if name not in hidden and (isinstance(value, int | float | str) or _is_gamma(value))
        ]
        return f"{kind}: {', '.join(words)}" if words else str(kind)


def _is_gamma(value: object) -> bool:
    return isinstance(value, dict) and value.get("type") == "Gamma"


def _words(value: object) -> str:
    if isinstance(value, dict):
        return f"Gamma({value['concentration']:g}, {value['rate']:g})"
    return f"{value:g}" if isinstance(value, float) else str(value)


def subjects(choice: str | Path | None = None, prior: Prior | None = None) -> list[Subject]:
    """The released models that the page can show, led by the one chosen: a name, or the folder of a saved model."""
    released = {name: model for name, model in ((name, load(name)) for name in names()) if is_shown(model)}
    name = str(choice) if choice is not None else FIRST if FIRST in released else next(iter(released))
    model = released[name] if name in released and prior is None else load(name, prior)
    others = [subject_of(each, released[each]) for each in released if each != name]
    return [subject_of(name, model), *others]


def is_shown(model: Model) -> bool:
    """Whether the page can show a model: one feature, real targets."""
    return model.problem.num_features == 1 and isinstance(model.problem.outcome, Real)


def subject_of(name: str, model: Model) -> Subject:
    """The model, its window and its reference."""
    if not is_shown(model):
        outcome = model.problem.outcome
        targets = f"{outcome.count} classes" if isinstance(outcome, Classes) else "real"
        raise InputError(
            f"the demo shows models of one feature and real targets; {name} takes {model.problem.takes} "
            f"and its targets are {targets}. Choose one of: {', '.join(shown_names())}."
        )
    x_range = model.problem.input_range or UNKNOWN_RANGE
    return Subject(name, model, x_range, values_of(model, x_range), reference_for(prior_of(model)))


def shown_names() -> Iterator[str]:
    """The released models that the page can show."""
    return (name for name in names() if is_shown(load(name)))


@torch.no_grad()
def values_of(model: Model, x_range: Range) -> Range:
    """The range of y under the prior, with a margin, since the window must not move while a point is dragged."""
    x = torch.linspace(*x_range, 9)[:, None]
    ppd = model.condition(torch.zeros(0, 1), torch.zeros(0)).predict(x)
    low, high = (ppd.icdf(torch.full((9,), level)).median().item() for level in (0.002, 0.998))
    room = 0.08 * (high - low)
    return low - room, high + room


def prior_of(model: Model) -> Prior | None:
    """The prior that is bound to a model, or on its card, from which a user's own function does not come back."""
    if model.prior is not None:
        return model.prior
    try:
        return build(model.card.prior, PRIORS)
    except RecipeError:
        return None


def reference_for(prior: Prior | None) -> Reference | None:
    """The exact predictor of the prior, or a slow oracle."""
    if isinstance(prior, HyperGaussianProcess):
        return Reference("oracle (importance sampling)", HyperGPOracle(prior, ORACLE_SAMPLES), is_slow=True)
    predictor = None if prior is None else exact_or_none(prior)
    if isinstance(predictor, ProgramOracle):
        return Reference("truth (importance sampling)", predictor, is_slow=True)
    return None if predictor is None else Reference("exact posterior", predictor, is_slow=False)
