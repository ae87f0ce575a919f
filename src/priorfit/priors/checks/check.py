"""``check_prior``: what is wrong with a prior, in plain words, before a network is fitted to it."""

from operator import index

from priorfit.errors import InputError, PriorError
from priorfit.priors.checks.draws import Draws, timed_sample
from priorfit.priors.checks.form import faults_of_form, faults_of_values, notes_of_values
from priorfit.priors.checks.independence import faults_of_independence
from priorfit.priors.checks.points import faults_of_points
from priorfit.priors.checks.program import faults_of_program
from priorfit.priors.checks.report import PriorReport
from priorfit.priors.prior import Prior

STAGES = (faults_of_form, faults_of_program, faults_of_values, faults_of_independence, faults_of_points)
"""The checks in order. Faults of one stage make the statistics of the next meaningless, so the first faults end it."""

LEAST = {"num_points": 2, "batch_size": 16, "num_batches": 16}
"""Smallest sizes of a check: with fewer draws a fault could not be told from chance."""


def check_prior(
    prior: Prior, num_points: int = 32, batch_size: int = 64, num_batches: int = 24, seed: int = 0
) -> PriorReport:
    """Draw from a prior and report on it; raise a `PriorError` that lists every fault found.

    Looked for: a wrong shape or dtype, NaN and infinity, labels out of range or declared as reals, constant targets,
    inputs that are changed in place, draws that no seed repeats, latents that are shared by all datasets of a
    batch instead of drawn for each, and targets that depend on the order of the points, on a statistic of the whole
    dataset, on the inputs of other points or on the size of the batch. Of a prior with named latents: a latent that
    is ignored, draws outside of their support, and a law that is random itself, or not the same for a point among
    others and alone. A sound prior fails fewer than one check in a million. Faults that cause others are reported
    first, alone.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> check_prior(GaussianProcess()).num_points
    32
    """
    _check_is_prior(prior)
    draws = _checked_draws(num_points, batch_size, num_batches, seed)
    first, seconds = timed_sample(prior, draws)
    for find in STAGES:
        _raise(prior, list(find(prior, draws)))
    y = first.y.double()
    return PriorReport(
        name=str(prior),
        num_datasets=draws.batch_size * (draws.num_batches + 1),
        num_points=draws.num_points,
        mean=float(y.mean()),
        std=float(y.std()),
        low=float(y.min()),
        high=float(y.max()),
        seconds_per_dataset=seconds / draws.batch_size,
        offers_expected_targets=prior.offers_expected,
        notes=tuple(notes_of_values(prior, draws)),
    )


def _raise(prior: Prior, faults: list[str]) -> None:
    if faults:
        listed = "\n".join(f"  - {fault}" for fault in faults)
        raise PriorError(f"no network can be fitted to prior {prior}:\n{listed}")


def _check_is_prior(prior: object) -> None:
    if isinstance(prior, Prior):
        return
    if isinstance(prior, type) and issubclass(prior, Prior):
        raise InputError(f"check_prior needs a prior; got the class {prior.__name__}. Make one: {prior.__name__}(...).")
    if callable(prior):
        name = getattr(prior, "__name__", type(prior).__name__)
        raise InputError(
            f"check_prior needs a prior; got the function {name}. Decorate it: @pf.prior(num_features=...) above its "
            "definition, with the number of columns of x."
        )
    raise InputError(
        "check_prior needs a prior, such as GaussianProcess() or a function decorated with @pf.prior(num_features=1); "
        f"got {prior!r}."
    )


def _checked_draws(num_points: int, batch_size: int, num_batches: int, seed: int) -> Draws:
    named = {"num_points": num_points, "batch_size": batch_size, "num_batches": num_batches, "seed": seed}
    for name, value in named.items():
        try:
            index(value)
        except TypeError:
            raise InputError(f"{name} of check_prior must be a whole number; got {value!r}.") from None
    if any(named[name] < least for name, least in LEAST.items()) or seed < 0:
        raise InputError(
            "check_prior needs num_points >= 2, batch_size >= 16 and num_batches >= 16 to tell chance from fault, and "
            f"seed >= 0; got {num_points}, {batch_size}, {num_batches} and {seed}."
        )
    return Draws(num_points, batch_size, num_batches, seed)
