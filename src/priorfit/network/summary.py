"""A model in a few readable lines."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from priorfit.data import Classes
from priorfit.network.problem import Problem

if TYPE_CHECKING:
    from priorfit.network.model import Model


def summary(model: "Model") -> str:
    """Name, prior, what the model takes and answers, what it was trained on, and its size.

    >>> import priorfit as pf
    >>> print(pf.load("bnn-small"))
    PFN 'bnn-small', fitted to BayesianNetwork
      takes      3 columns, contexts of 0 to 100 points
      answers    2 classes
      trained    192,000 datasets, 6,000 steps
      network    81 weights
    """
    weights = sum(weight.numel() for weight in model.parameters())
    prior = model.card.prior.get("name") or model.card.prior.get("type")
    fitted = f", fitted to {prior}" if prior else ""
    lines = [f"{type(model).__name__} {model.card.name!r}{fitted}", *_lines(model), f"  network    {weights:,} weights"]
    return "\n".join(lines)


def _lines(model: "Model") -> Iterator[str]:
    problem, card = model.problem, model.card
    size = (
        "" if card.trained_context is None else f", contexts of {card.trained_context[0]} to {card.trained_context[1]}"
    )
    where = "" if problem.input_range is None else " in [{:g}, {:g}]".format(*problem.input_range)
    yield f"  takes      {problem.takes}{where}{size and size + ' points'}"
    yield f"  answers    {_answer(problem)}"
    if card.training:
        datasets, steps = card.trained_in_all("datasets"), card.trained_in_all("steps")
        yield f"  trained    {datasets:,.0f} datasets, {steps:,.0f} steps"


def _answer(problem: Problem) -> str:
    if isinstance(problem.outcome, Classes):
        return f"{problem.outcome.count} classes"
    if problem.answers == "function":
        return "the function below noisy targets"
    if problem.units == "free":
        return "real targets, in units of the context"
    known = (
        "" if problem.target_range is None else ", between {:.3g} and {:.3g} in training".format(*problem.target_range)
    )
    return f"real targets{known}"
