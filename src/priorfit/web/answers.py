"""What only Python can say about the points of a page: a p-value, and the truth of a prior whose code is at hand."""

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from priorfit.baselines.exact import exact_or_none
from priorfit.baselines.exact.program_oracle import OraclePosterior, ProgramOracle
from priorfit.data import Real
from priorfit.errors import InputError, PriorfitError
from priorfit.network import PFN, Model

LINES = {"low95": 0.025, "low50": 0.25, "high50": 0.75, "high95": 0.975}
"""Levels of the limits that the page draws, by its names for them."""

SURPRISE_DRAWS = 99
"""Draws of the prior that points are compared with: enough for two digits of a p-value."""

MOST_CHECKED, MOST_POINTS, MOST_QUERIES = 60, 200, 500
"""Most points that get a p-value and that a page has, and most inputs that it draws."""

NUM_CELLS = 600
"""Cells of the cut at the cursor, as many as the page has of its own."""

FIELDS = ("x", "y", "queries", "values", "cursor")


@dataclass(frozen=True)
class Question:
    """The points of a page, known latents, the inputs of its curves, the range of its y and the place of its cursor."""

    model: str
    known: dict[str, list[float]]
    x: list[float]
    y: list[float]
    queries: list[float]
    values: list[float]
    cursor: list[float]

    @classmethod
    def of(cls, body: bytes) -> "Question":
        """Read a question; an `InputError` where it is none of a page of ours."""
        try:
            fields = json.loads(body)
            numbers = {name: [float(value) for value in fields[name]] for name in FIELDS}
            known = {str(name): [float(value) for value in own] for name, own in fields["known"].items()}
            made = cls(str(fields["model"]), known, **numbers)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise InputError(f"expected a question of the page, as JSON; got something else ({error}).") from error
        is_sized = len(made.x) == len(made.y) <= MOST_POINTS and 0 < len(made.queries) <= MOST_QUERIES
        if not is_sized or len(made.values) != 2 or not made.values[0] < made.values[1] or len(made.cursor) != 1:
            raise InputError(
                f"expected up to {MOST_POINTS} points, up to {MOST_QUERIES} queries, a range of y and one cursor; got "
                f"{len(made.x)} and {len(made.y)}, {len(made.queries)}, {made.values} and {made.cursor}."
            )
        return made

    @property
    def context(self) -> tuple[Float[Tensor, "context 1"], Float[Tensor, " context"]]:
        """The points as inputs and targets."""
        return torch.tensor(self.x)[:, None], torch.tensor(self.y)


class PythonAnswers:
    """Answers for some models, one question at a time: samplers seed the global generators."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self._models = {name: model for name, model in models.items() if isinstance(model, PFN) and is_asked(model)}
        self._oracles = {name: oracle for name, model in models.items() if (oracle := oracle_of(model)) is not None}
        self._lock = threading.Lock()
        self._truth: tuple[tuple[object, ...], OraclePosterior] | None = None

    def asked_about(self, name: str) -> dict[str, Any] | None:
        """What the page is told of a model: whether to ask at all, and the name of a reference that it cannot have."""
        if name not in self._models:
            return None
        return {"reference": "truth (importance sampling)" if name in self._oracles else None}

    def answer(self, body: bytes) -> dict[str, Any]:
        """A p-value in words, and mean, limits and the cut of the truth where its prior is at hand."""
        question = Question.of(body)
        if question.model not in self._models:
            raise InputError(f"this page has no model {question.model!r} that Python is asked about.")
        with self._lock, torch.no_grad():
            return {"surprise": self._surprise(question), **self._reference(question)}

    def _surprise(self, question: Question) -> str:
        if not 0 < len(question.x) <= MOST_CHECKED or question.known:
            return ""
        model = self._models[question.model]
        return model.condition(*question.context).surprise(draws=SURPRISE_DRAWS).status

    def _reference(self, question: Question) -> dict[str, Any]:
        if question.model not in self._oracles:
            return {}
        posterior = self._conditioned(question)
        ppd = posterior.predict(torch.tensor(question.queries)[:, None])
        limits = {name: ppd.icdf(torch.tensor(level)) for name, level in LINES.items()}
        bands = {name: line.tolist() for name, line in {"mean": ppd.mean, **limits}.items()}
        at_cursor = posterior.predict(torch.tensor(question.cursor)[:, None])
        return {"bands": bands, "cut": {"x": question.cursor[0], "density": cell_density(at_cursor, question.values)}}

    def _conditioned(self, question: Question) -> OraclePosterior:
        """The truth given the points; that of the last question is kept, since a moved cursor asks for it again."""
        key = (question.model, tuple(question.x), tuple(question.y), json.dumps(question.known, sort_keys=True))
        if self._truth is None or self._truth[0] != key:
            known = {name: torch.tensor(own) if len(own) > 1 else own[0] for name, own in question.known.items()}
            self._truth = key, self._oracles[question.model].condition(*question.context, **known)
        return self._truth[1]


def cell_density(ppd: Distribution, values: Sequence[float]) -> list[float]:
    """The mean density of y between neighbouring edges of a range, at one input."""
    edges = torch.linspace(values[0], values[1], NUM_CELLS + 1)
    below = torch.cat([ppd.cdf(some[:, None]) for some in edges.split(32)])[:, 0]
    return (below.diff() / edges.diff()).clamp_min(0).tolist()


def is_asked(model: Model) -> bool:
    """Whether the page asks Python about a model: it has one feature and real targets."""
    return isinstance(model.problem.outcome, Real)


def oracle_of(model: Model) -> ProgramOracle | None:
    """The truth by importance sampling, where a prior that names its law is bound to the model."""
    if model.prior is None or not is_asked(model):
        return None
    try:
        found = exact_or_none(model.prior)
    except PriorfitError:  # a law that no oracle can weigh
        return None
    return found if isinstance(found, ProgramOracle) else None
