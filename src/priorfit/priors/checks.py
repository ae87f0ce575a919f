"""``check_prior``: what is wrong with a prior, in plain words, before a network is fitted to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Classes, Datasets
from priorfit.errors import InputError, PriorError, PriorfitError
from priorfit.priors.function import check_labels
from priorfit.priors.prior import Prior
from priorfit.seeding import seeded

LARGEST_RATIO = 4.0
"""Independent datasets exceed it in less than one check of a million (F distribution, 23 and 1512 degrees)."""


@dataclass(frozen=True)
class PriorReport:
    """What a sound prior looks like."""

    name: str
    num_datasets: int
    num_points: int
    mean: float
    std: float
    low: float
    high: float
    seconds_per_dataset: float
    offers_expected_targets: bool

    def __str__(self) -> str:
        """One line a fact."""
        offer = "yes" if self.offers_expected_targets else "no"
        return (
            f"{self.name}: no fault found in {self.num_datasets} datasets of {self.num_points} points\n"
            f"  targets: mean {self.mean:.3g}, standard deviation {self.std:.3g}, "
            f"from {self.low:.3g} to {self.high:.3g}\n"
            f"  time: {1e6 * self.seconds_per_dataset:.0f} microseconds a dataset\n"
            f"  expected targets: {offer}"
        )


def check_prior(
    prior: Prior, num_points: int = 32, batch_size: int = 64, num_batches: int = 24, seed: int = 0
) -> PriorReport:
    """Draw from a prior and report on it; raise a `PriorError` that lists every fault found.

    Looked for: a wrong shape or dtype, NaN and infinity, labels out of range, constant targets, draws that no
    seed repeats, and latents that are shared by all datasets of a batch instead of drawn for each.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> check_prior(GaussianProcess()).num_datasets
    1600
    """
    if num_points < 2 or batch_size < 16 or num_batches < 16:
        raise InputError(
            "check_prior needs num_points >= 2, batch_size >= 16 and num_batches >= 16 to tell chance from fault; got "
            f"{num_points}, {batch_size}, {num_batches}."
        )
    first, seconds = _timed_sample(prior, batch_size, num_points, seed)
    again, _ = _timed_sample(prior, batch_size, num_points, seed)
    faults = list(_faults_of_form(prior, first, batch_size, num_points))
    if not faults:
        faults = [*_faults_of_values(prior, first, again), *_faults_of_conditional(prior, first)]
    if not faults:
        faults = list(_faults_of_independence(prior, num_points, batch_size, num_batches, seed))
    _raise(prior, faults)
    y = first.y.double()
    return PriorReport(
        name=str(prior),
        num_datasets=batch_size * (num_batches + 1),
        num_points=num_points,
        mean=float(y.mean()),
        std=float(y.std()),
        low=float(y.min()),
        high=float(y.max()),
        seconds_per_dataset=seconds / batch_size,
        offers_expected_targets=prior.offers_expected,
    )


def _raise(prior: Prior, faults: list[str]) -> None:
    if faults:
        listed = "\n".join(f"  - {fault}" for fault in faults)
        raise PriorError(f"no network can be fitted to prior {prior}:\n{listed}")


def _timed_sample(prior: Prior, batch_size: int, num_points: int, seed: int) -> tuple[Datasets, float]:
    with seeded(seed):
        start = perf_counter()
        try:
            datasets = prior.sample(batch_size, num_points)
        except PriorfitError as error:
            raise PriorError(f"no network can be fitted to prior {prior}:\n  - {error}") from error
        return datasets, perf_counter() - start


def _faults_of_form(prior: Prior, datasets: Datasets, batch_size: int, num_points: int) -> Iterator[str]:
    x, y = datasets.x, datasets.y
    expected = (batch_size, num_points, prior.num_features)
    if tuple(x.shape) != expected:
        yield f"inputs must have shape (batch, points, features) = {expected}; got {tuple(x.shape)}."
    if tuple(y.shape) != expected[:2]:
        yield f"targets must have shape (batch, points) = {expected[:2]}; got {tuple(y.shape)}."
    if not y.is_floating_point() or y.dtype != x.dtype:
        yield f"targets must have the dtype of the inputs, {x.dtype}; got {y.dtype}. Return y.to(x.dtype)."


def _faults_of_values(prior: Prior, first: Datasets, again: Datasets) -> Iterator[str]:
    x, y = first.x, first.y
    for name, values in (("inputs", x), ("targets", y)):
        wrong = 1 - float(values.isfinite().double().mean())
        if wrong > 0:
            yield f"{wrong:.1%} of the {name} are NaN or infinite. Look for divisions by 0 and overflows."
    if isinstance(prior.outcome, Classes):
        try:
            check_labels(str(prior), y.nan_to_num(), prior.outcome)
        except PriorError as error:
            yield str(error)
    if bool((y == y[:, :1]).all()):
        yield "the targets are constant within every dataset: there is nothing to learn. Do they depend on x?"
    if not (torch.equal(x.nan_to_num(), again.x.nan_to_num()) and torch.equal(y.nan_to_num(), again.y.nan_to_num())):
        yield (
            "the same seed gives different datasets, so no run can be repeated. Draw from torch's, numpy's or "
            "Python's global generators, and keep no state between draws."
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


def _faults_of_independence(
    prior: Prior, num_points: int, batch_size: int, num_batches: int, seed: int
) -> Iterator[str]:
    with seeded(seed, 1):
        x = prior.inputs.sample(1, num_points, prior.num_features).repeat(batch_size, 1, 1)
        y = torch.stack([prior.targets(x).double() for _ in range(num_batches)])  # (batches, batch, points)
    if bool((y == y[0, 0]).all()):
        yield "every dataset has the same targets at the same inputs: the prior draws nothing. Draw its latents."
        return
    ratio = variance_ratio(y)
    if ratio > LARGEST_RATIO:
        yield (
            f"datasets of one batch are alike: at the same inputs, batches differ at least {min(ratio, 999):.3g} times "
            f"as much as they would if each dataset had its own latents (up to {LARGEST_RATIO:g} may be chance). Draw "
            "each latent with shape (len(x), 1), one for each dataset, not once for the whole batch."
        )


def variance_ratio(y: Float[Tensor, "batches batch points"]) -> float:
    """The largest F ratio, over features of a dataset, of the variance between batches to that within.

    It is about 1 where all datasets are independent, and grows with the batch size where something is shared. The
    features are those that noise at single points does not hide: the targets, their main
    directions, mean and spread, squares and neighbouring products (a shared scale or wiggliness has no mean).
    They are ranked, so that heavy tails do not matter.
    """
    ranks = _ranks(_features(y.flatten(0, 1))).unflatten(0, y.shape[:2])  # (batches, batch, feature)
    return float(fisher_ratios(ranks).max())


def fisher_ratios(values: Float[Tensor, "batches batch feature"]) -> Float[Tensor, " feature"]:
    """The F ratio of one-way analysis of variance for each feature; 0 for a constant one."""
    between = values.shape[1] * values.mean(1).var(0)  # (feature)
    within = values.var(1).mean(0)  # (feature)
    return torch.where(between > 0, between / within, 0)


def _features(y: Float[Tensor, "datasets points"]) -> Float[Tensor, "datasets feature"]:
    centred = y - y.mean(0)
    directions = torch.linalg.svd(centred, full_matrices=False).Vh[:8]  # (direction, points)
    return torch.cat(
        [
            y,
            centred @ directions.mT,
            y.mean(-1, keepdim=True),
            y.std(-1, keepdim=True),
            centred.square(),
            centred[:, 1:] * centred[:, :-1],
            centred.square().mean(-1, keepdim=True),
            (centred[:, 1:] * centred[:, :-1]).mean(-1, keepdim=True),
        ],
        dim=-1,
    )


def _ranks(values: Float[Tensor, "datasets feature"]) -> Float[Tensor, "datasets feature"]:
    """Ranks within each column; equal values share their mean rank, whatever their order."""
    columns = values.mT.contiguous()  # (feature, datasets)
    ordered = columns.sort(-1).values
    low = torch.searchsorted(ordered, columns)
    high = torch.searchsorted(ordered, columns, right=True)
    return ((low + high).double() / 2).mT
