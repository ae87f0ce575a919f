"""Warnings about contexts and queries outside of what a model was trained on."""

import warnings
from typing import TYPE_CHECKING

from jaxtyping import Num
from torch import Tensor

from priorfit.data import Classes
from priorfit.errors import OutsideTrainingWarning
from priorfit.network.problem import Problem

if TYPE_CHECKING:
    from priorfit.network.card import ModelCard

FARTHEST = 6.0
"""Standard deviations from the mean of normal inputs: of 10^8 draws none lies farther."""

TARGET_SLACK = 0.5
"""Share of the trained range of targets that is added on either side: the largest of many draws is chance."""


def warn_of_context(
    x: Num[Tensor, "batch context columns"], y: Num[Tensor, "batch context"], problem: Problem, card: "ModelCard"
) -> None:
    """Warn where a context, in the model's units, is unlike all that training showed; each limit has its sentence."""
    if not y.shape[0]:  # no datasets
        return
    warn_of_size(y.shape[1], card.trained_context)
    warn_of_inputs(x, problem)
    if not y.shape[1]:
        warn_of_no_units(problem)
    elif isinstance(problem.outcome, Classes):
        warn_of_rare_class(y, problem.outcome, problem.rarest_share)
    else:
        warn_of_targets(y, problem)


def warn_of_more(
    x: Num[Tensor, "batch more columns"],
    y: Num[Tensor, "batch more"],
    problem: Problem,
    card: "ModelCard",
    num_context: int,
) -> None:
    """As `warn_of_context`, for points that are added to a context, which has ``num_context`` with them."""
    warn_of_size(num_context, card.trained_context)
    warn_of_inputs(x, problem)
    if y.numel() and not isinstance(problem.outcome, Classes):
        warn_of_targets(y, problem)


def warn_of_no_units(problem: Problem) -> None:
    """Warn of an empty context where units are taken from it."""
    if problem.units == "free":
        warn(
            "the units of columns and targets are taken from the context, which is empty: this is the prior's answer "
            "in standard units (mean 0, standard deviation 1). Give at least two points."
        )


def warn_of_size(num_context: int, trained: tuple[int, int] | None) -> None:
    """Warn of fewer or more points than training had."""
    if trained is not None and not trained[0] <= num_context <= trained[1]:
        warn(
            f"this model was trained on contexts of {trained[0]} to {trained[1]} points and is asked about "
            f"{num_context}; its answer may be wrong. Train one with a larger num_points."
        )


def warn_of_inputs(x: Num[Tensor, "batch points columns"], problem: Problem) -> None:
    """Warn of inputs outside of the interval that training showed."""
    low, high = input_limits(problem)
    if not x.numel() or low is None or high is None:
        return
    smallest, largest = (float(end) for end in x.detach().aminmax())
    if smallest < low or largest > high:
        remedy = "Rescale the inputs, or train on a wider range."
        if problem.units == "free":
            remedy = "These are in units of the context's columns: look for outliers, or take logarithms."
        warn(
            f"this model was trained on inputs in [{low:g}, {high:g}] and is asked about "
            f"[{smallest:g}, {largest:g}]; its answer may be wrong. {remedy}"
        )


def input_limits(problem: Problem) -> tuple[float | None, float | None]:
    """The interval that holds all inputs of training, in the model's units; None where it is not known."""
    if problem.input_range is not None:
        return problem.input_range
    columns = problem.columns
    if columns is None or columns.range is not None:
        return None, None
    most = problem.num_features / problem.fewest_features  # padding multiplies what is left
    reach = most * (abs(columns.mean) + FARTHEST * columns.scale)
    return -reach, reach


def warn_of_targets(y: Num[Tensor, "batch context"], problem: Problem) -> None:
    """Warn of targets far outside of what the prior draws, and of contexts that tell nothing of free units."""
    if problem.units == "free" and (y == y[:, :1]).all(1).any():
        warn(
            f"the units of y are taken from the context, whose {y.shape[1]} target(s) are all equal: how far others "
            "may lie from them is not known, and the stated spread is in no particular unit. Give targets that differ."
        )
    if problem.target_range is None:
        return
    low, high = problem.target_range
    slack = TARGET_SLACK * (high - low)
    smallest, largest = (float(end) for end in y.detach().aminmax())
    if smallest < low - slack or largest > high + slack:
        remedy = "Check the units of y." if problem.units == "fixed" else "Look for outliers, or take logarithms of y."
        warn(
            f"this model was trained on targets in [{low:.3g}, {high:.3g}] and is given "
            f"[{smallest:.3g}, {largest:.3g}]; its answer may be wrong. {remedy}"
        )


def warn_of_rare_class(y: Num[Tensor, "batch context"], outcome: Classes, rarest: float | None) -> None:
    """Warn of classes that are much rarer than training showed, by more than chance (three standard errors)."""
    if rarest is None or not rarest:
        return
    shares = [(y == label).double().mean(1).min() for label in range(outcome.count)]
    share = float(min(shares))
    if share + 3 * (rarest * (1 - rarest) / y.shape[1]) ** 0.5 < rarest:
        warn(
            f"this model was trained on datasets whose rarest class has a share of {rarest:.0%} or more and is given "
            f"one of {share:.1%}; its probabilities lean towards balance and are wrong. Train one on such a prior, or "
            "correct the probabilities by the odds of the classes."
        )


def warn(message: str) -> None:
    """Warn the caller of `condition` or `predict`; Python shows each new sentence once."""
    warnings.warn(message, OutsideTrainingWarning, stacklevel=5)
