"""Faults of named latents and of the law of the targets given them; all but the first are exact comparisons."""

from collections.abc import Iterator

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Distribution

from priorfit.priors.checks.draws import Draws
from priorfit.priors.latents import Latents
from priorfit.priors.prior import Prior
from priorfit.priors.program import ProgramPrior, placed
from priorfit.seeding import seeded

NEAR = 1e-4
"""Log densities that differ by less, relative to their size, are equal but for rounding."""


def faults_of_program(prior: Prior, draws: Draws) -> Iterator[str]:
    """Faults of the latents and the law of a prior that names some; none of any other prior."""
    if not isinstance(prior, ProgramPrior):
        return
    with seeded(draws.seed, 6):
        x = prior.inputs.sample(draws.batch_size, draws.num_points, prior.num_features)
        latents = prior.sample_latents(len(x), x)
    yield from _outside_of_support(prior, latents)
    yield from _ignored(prior, x, latents, draws.seed)
    if prior.has_law:
        yield from _faults_of_law(prior, x, latents, draws.seed)


def _outside_of_support(prior: ProgramPrior, latents: Latents) -> Iterator[str]:
    batch_size = len(next(iter(latents.values())))
    for latent in prior.latents:
        law, value = latent.law(latents, batch_size), latents[latent.name]
        inside = law.support.check(value) & value.isfinite()  # pyright: ignore[reportOptionalMemberAccess]
        if not bool(inside.all()):
            yield (
                f"{1 - float(inside.double().mean()):.1%} of the draws of latent {latent.name!r} lie outside of the "
                f"support of {latent.text}, or are not finite. Check its `sample` and its `support`."
            )


def _ignored(
    prior: ProgramPrior, x: Float[Tensor, "batch points features"], latents: Latents, seed: int
) -> Iterator[str]:
    """A latent whose values can be exchanged between datasets without any effect, and that no other latent needs."""
    before = _seeded_answer(prior, x, latents, seed)
    needed = {parent for latent in prior.latents for parent in latent.parents}
    for latent in prior.latents:
        value = latents[latent.name]
        if latent.name in needed or bool((value == value.roll(1, dims=0)).all()):
            continue
        after = _seeded_answer(prior, x, latents | {latent.name: value.roll(1, dims=0)}, seed)
        if torch.equal(before, after):
            yield (
                f"latent {latent.name!r} is ignored: other values of it change nothing. Use it in the function, or "
                "take it out of @prior."
            )


def _seeded_answer(
    prior: ProgramPrior, x: Float[Tensor, "batch points features"], latents: Latents, seed: int
) -> Num[Tensor, "batch points"]:
    """What the function gives with one seed: the draws, or draws of the law."""
    with seeded(seed, 7), torch.no_grad():
        found = prior(x.clone(), **latents)
        return found.sample() if isinstance(found, Distribution) else found


def _faults_of_law(
    prior: ProgramPrior, x: Float[Tensor, "batch points features"], latents: Latents, seed: int
) -> Iterator[str]:
    with seeded(seed, 8):
        law = prior.law(x.clone(), latents)
        y = law.sample()
        density = law.log_prob(y)
        again = prior.law(x.clone(), latents).log_prob(y)
    if not bool((density > -torch.inf).all()):
        yield (
            "the law draws targets where its own density is 0, or not a number, so that no likelihood can be trusted. "
            "Check its `sample` against its `log_prob`."
        )
    if not _are_equal(density, again):
        yield (
            "the law differs between two calls with the same x and latents: the function draws numbers itself. Name "
            "each of them as a latent, @pf.prior(..., slope=Normal(0.0, 1.0)), or leave the noise to the law."
        )
        return
    half = x.shape[1] // 2
    if not _are_equal(density[:, :half], prior.law(x[:, :half].clone(), latents).log_prob(y[:, :half])):
        yield (
            "the law of a point changes with the other points of its dataset: it must factorise over points. Take no "
            "statistic of x over the points, and name what joins them as a latent."
        )
    few = {name: value[:3] for name, value in latents.items()}
    if not _are_equal(density[:3], prior.law(x[:3].clone(), placed(few, x)).log_prob(y[:3])):
        yield (
            "the law of a dataset changes with the other datasets of its batch. Take no statistic over the batch; the "
            "size of the batch, len(x), may only stand in shapes."
        )


def _are_equal(one: Float[Tensor, "batch points"], other: Float[Tensor, "batch points"]) -> bool:
    return bool(((one - other).abs() <= NEAR * (1 + one.abs())).all())
