"""Faults that single draws show: of shape, dtype and values, and of what a prior says about itself."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Classes, Datasets, Real
from priorfit.errors import PriorError
from priorfit.priors.checks.draws import Draws, timed_sample
from priorfit.priors.prior import Prior
from priorfit.priors.targets import check_labels
from priorfit.seeding import seeded

MOST_LABELS = 10
"""Most distinct values of labels; the real targets of a check, a thousand or more, have more."""


def faults_of_form(prior: Prior, draws: Draws) -> Iterator[str]:
    """Wrong shapes and dtypes, in batches of several sizes; inputs that are changed in place."""
    for sizes in (draws, Draws(draws.num_points, 1, 1, draws.seed), Draws(draws.num_points + 1, 3, 1, draws.seed)):
        faults = list(_faults_of_shape(prior, timed_sample(prior, sizes)[0], sizes))
        yield from faults
        if faults:
            return
    with seeded(draws.seed, 2):
        x = prior.inputs.sample(draws.batch_size, draws.num_points + prior.num_extra, prior.num_features)
        before = x.clone()
        prior.draw(x)
    if not torch.equal(x, before):
        yield (
            "the inputs are changed in place (as x *= 2, x.clamp_(...) or x[:, 0] = 0 do), so that the network sees "
            "other inputs than were drawn. Work on a new tensor, such as x = 2 * x, or begin with x = x.clone()."
        )


def _faults_of_shape(prior: Prior, datasets: Datasets, sizes: Draws) -> Iterator[str]:
    x, y = datasets.x, datasets.y
    expected = (sizes.batch_size, sizes.num_points, prior.num_features)
    fewest = prior.num_features if prior.fewest_features is None else prior.fewest_features
    if tuple(x.shape[:2]) != expected[:2] or x.ndim != 3 or not fewest <= x.shape[2] <= prior.num_features:
        yield f"inputs must have shape (batch, points, features) = {expected}; got {tuple(x.shape)}."
    if tuple(y.shape) != expected[:2]:
        yield (
            f"targets must have shape (batch, points) = {expected[:2]}; got {tuple(y.shape)}. Draw as many datasets "
            "and points as are asked for, each time."
        )
    if not y.is_floating_point() or y.dtype != x.dtype:
        yield f"targets must have the dtype of the inputs, {x.dtype}; got {y.dtype}. Return y.to(x.dtype)."


def faults_of_values(prior: Prior, draws: Draws) -> Iterator[str]:
    """NaN, labels out of range or declared as reals, constant targets, draws that no seed repeats."""
    first, again = timed_sample(prior, draws)[0], timed_sample(prior, draws)[0]
    x, y = first.x, first.y
    known = x.nan_to_num(posinf=torch.inf, neginf=-torch.inf) if prior.draws_missing else x
    for name, values in (("inputs", known), ("targets", y)):
        wrong = 1 - float(values.isfinite().double().mean())
        if wrong > 0:
            yield f"{wrong:.1%} of the {name} are NaN or infinite. Look for divisions by 0 and overflows."
    yield from _faults_of_outcome(prior, y.nan_to_num())
    if bool((y == y[:, :1]).all()):
        yield "the targets are constant within every dataset: there is nothing to learn. Do they depend on x?"
    if not (torch.equal(x.nan_to_num(), again.x.nan_to_num()) and torch.equal(y.nan_to_num(), again.y.nan_to_num())):
        yield (
            "the same seed gives different datasets, so no run can be repeated. Draw from torch's, numpy's or "
            "Python's global generators, and keep no state between draws."
        )
    yield from _faults_of_conditional(prior, first)


def _faults_of_outcome(prior: Prior, y: Float[Tensor, "batch points"]) -> Iterator[str]:
    if isinstance(prior.outcome, Classes):
        try:
            check_labels(str(prior), y, prior.outcome)
        except PriorError as error:
            yield str(error)
    values = y.unique()
    if isinstance(prior.outcome, Real) and 1 < len(values) <= min(MOST_LABELS, y.numel() // 8):
        listed = ", ".join(f"{float(value):g}" for value in values)
        yield (
            f"the targets have only {len(values)} distinct values ({listed}), but the outcome is Real(), whose density "
            f"would grow without bound at them. If they are labels, return 0 ... {len(values) - 1} and say "
            f"outcome=Classes({len(values)}); if they are rounded or counted, add noise as wide as a step: "
            "y + torch.rand_like(y) - 0.5."
        )


def _faults_of_conditional(prior: Prior, datasets: Datasets) -> Iterator[str]:
    if prior.offers_expected != (datasets.conditional is not None):
        yield f"offers_expected is {prior.offers_expected}, but the draws say otherwise. Set it, or the conditional."
    if datasets.conditional is None:
        return
    half = datasets.y.shape[-1] // 2
    law = datasets.conditional(half)
    expected = tuple(datasets.y[:, half:].shape)
    if tuple(law.batch_shape) != expected:
        yield f"the conditional of n = {half} must have batch shape {expected}; got {tuple(law.batch_shape)}."


def notes_of_values(prior: Prior, draws: Draws) -> Iterator[str]:
    """Remarks on what may be intended: targets that use the whole dataset, or no input."""
    if prior.uses_whole_dataset:
        yield (
            "its targets use the whole dataset (uses_whole_dataset), as counts or a cut at the dataset's own median "
            "do; order of the points and leaks were not checked."
        )
    if prior.shares_latents:
        yield (
            "datasets of a batch have something in common (shares_latents); whether they are independent, and whether "
            "the size of the batch matters, was not checked."
        )
    with seeded(draws.seed, 2):
        x = prior.inputs.sample(draws.batch_size, draws.num_points + prior.num_extra, prior.num_features)
    with seeded(draws.seed, 3):
        here = prior.draw(x)
    with seeded(draws.seed, 3):
        there = prior.draw(x.flatten(0, 1).flip(0).reshape(x.shape))
    if torch.equal(here.y, there.y) and not torch.equal(here.x, there.x):
        yield "its targets do not depend on x: the same seed gives the same targets at other inputs."
