"""Training until a gap is reached: rounds that double the time, each judged against the truth on new datasets."""

import warnings
from dataclasses import dataclass, replace
from time import perf_counter

from priorfit.errors import GapWarning, InputError
from priorfit.metrics import Estimate
from priorfit.network import Model
from priorfit.training.gap import GapMeter, summary
from priorfit.training.judge import kept_best
from priorfit.training.loop import RunOptions
from priorfit.training.progress import Display
from priorfit.training.recipe import Budget, Recipe
from priorfit.training.resume import RunFolder
from priorfit.training.stages import train

SHORT_MINUTES = 0.5
"""The first round of a network that answers before it is trained."""

FIRST_MINUTES = 2.0
"""Length of the first round; each other one is as long as all before it, so that its learning rate may start anew."""

DATASETS, QUERIES = 32, 8
"""Datasets of each of four context sizes, and queries of each, that rounds are judged on."""

HARDLY = 0.9
"""A round that leaves more than this share of the gap says that more minutes would hardly help."""


@dataclass(frozen=True)
class Aim:
    """A gap in nats, and the most minutes to reach it in."""

    gap: float
    minutes: float

    def __post_init__(self) -> None:
        if not self.gap > 0:
            raise InputError(f"gap is a positive number of nats; got {self.gap}.")
        if not self.minutes > 0:
            raise InputError(f"minutes is the longest training for a gap, a positive number; got {self.minutes}.")

    def is_met(self, found: Estimate) -> bool:
        """Whether the upper end of the interval is below the gap, so that new datasets will find it below too."""
        return found.mean + found.half_width <= self.gap


def judge_for(recipe: Recipe) -> GapMeter:
    """What rounds are judged by; refused where the prior has no truth."""
    meter = GapMeter(recipe, sampled=DATASETS, queries=QUERIES)
    if not meter.has_truth:
        raise InputError(
            f"gap needs a truth to measure against, and {recipe.prior} has none: neither a closed form nor named "
            "latents with a law. Let its function return a law, or train by minutes."
        )
    return meter


def trained_until(recipe: Recipe, options: RunOptions, display: Display, start: Model | None, aim: Aim) -> Model:
    """Rounds from a start until the gap is reached, the minutes are over, or a round hardly helped."""
    assert recipe.budget.minutes is not None  # those of the first round, of which a race may have taken some
    place = None if options.folder is None else RunFolder(options.folder)
    if place is not None:
        place.begin("model.fit_more")
    length, raced = recipe.budget.minutes, min(aim.minutes, FIRST_MINUTES) - recipe.budget.minutes
    stop = kept_best(recipe)
    length = length if stop is None else min(length, SHORT_MINUTES)
    begun, meter, readings = perf_counter() - 60 * raced, judge_for(recipe), list[Estimate]()
    while True:
        told = replace(recipe, budget=Budget(minutes=length), seed=recipe.seed + len(readings))
        model = start = train(told, options.at(None, resume=False), display, start, stop)
        readings.append(meter.estimate(model))
        spent = (perf_counter() - begun) / 60
        display.announce(words(readings, aim, spent))
        left = aim.minutes - spent
        is_over = left < 0.1 * aim.minutes
        if aim.is_met(readings[-1]) or is_over or hardly_helped(readings):
            break
        length = min(spent, left)
    model.card.training["gap"] = summary(readings[-1]) | {"asked": aim.gap, "minutes": round(spent, 2)}
    if place is not None:
        model.save(place.model)
    if not aim.is_met(readings[-1]):
        warnings.warn(failure(readings, aim, spent), GapWarning, stacklevel=3)
    return model


def hardly_helped(readings: list[Estimate]) -> bool:
    """Whether the last round, which doubled the time, left nearly all of the gap, and the one before it too."""
    pairs = zip(readings[-3:], readings[-2:], strict=False)
    return len(readings) > 2 and all(after.mean > HARDLY * before.mean for before, after in pairs)


def words(readings: list[Estimate], aim: Aim, minutes: float) -> str:
    """What a round came to, and what twice the minutes brought."""
    brought = ""
    if len(readings) > 1:
        share = readings[-1].mean / readings[-2].mean
        brought = f" Twice the minutes left {share:.0%} of the gap."
    found = readings[-1]
    return f"gap {found} nats on {found.count} new datasets after {minutes:.1f} minutes; {aim.gap:g} asked.{brought}"


def failure(readings: list[Estimate], aim: Aim, minutes: float) -> str:
    """Why the gap was not reached."""
    why = "more minutes would hardly help; try a larger network" if hardly_helped(readings) else "give it more minutes"
    return (
        f"the gap is {readings[-1]} nats after {minutes:.1f} minutes, not surely below the {aim.gap:g} asked for: "
        f"{why}, or go on with model.fit_more(minutes=...)."
    )
