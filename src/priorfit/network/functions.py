"""Whole functions and joint densities of a conditioned network."""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.errors import InputError, ShapeError
from priorfit.importance.particles import ParticlePosterior, Particles
from priorfit.importance.target import Target
from priorfit.network.latents.posterior import LatentPosterior
from priorfit.priors.program import ProgramPrior
from priorfit.values import Values, as_tensor

if TYPE_CHECKING:
    from priorfit.network.pfn import PFN


def program_of(model: "PFN", needed_for: str) -> ProgramPrior:
    """The prior that a model is bound to, with its law; an error that says what to do where there is none."""
    prior = model.prior
    if prior is None:
        raise InputError(
            f"{needed_for} needs the code of the prior, and a file holds none. Bind the prior again: "
            "pf.load(folder, prior=...)."
        )
    if not isinstance(prior, ProgramPrior) or not prior.has_likelihood:
        raise InputError(
            f"{needed_for} needs a likelihood, and prior {prior} has none: let its function name its latents and "
            "return a law, such as Normal(mean, noise), in place of draws, or state the likelihood of all points by "
            "prior.with_likelihood(...)."
        )
    return prior


def target_of(
    prior: ProgramPrior, context: tuple[Tensor, Tensor], known: dict[str, Num[Tensor, "datasets size"]]
) -> Target:
    """The posterior of the latents up to a constant, for the context that a network was conditioned on."""
    x, y = (each.float() for each in context)
    return Target(prior, x, y, prior.placed(known, x))


def functions_by_latents(
    latents: LatentPosterior,
    prior: ProgramPrior,
    query_x: Float[Tensor, "*batch query features"],
    count: int,
    noise: bool,
) -> Num[Tensor, "count *batch query"]:
    """Latents drawn jointly by the network, then the mean of the prior's law at them, or draws of it."""
    numbers = latents.chain(count).numbers
    values = prior.placed(latents.parts.decoded(numbers), query_x.float())
    equal = torch.zeros(numbers.shape[:2], dtype=torch.float64)
    return ParticlePosterior.of_all(prior, Particles(values, equal), query_x.shape[:-2]).functions(query_x, noise)


def functions_point_after_point(
    model: "PFN", context: tuple[Tensor, Tensor], query_x: Tensor, count: int, known: dict[str, Values | float]
) -> Num[Tensor, "count *batch query"]:
    """Each point drawn given the context and the points before it: coherent, and noisy as data are."""
    x, y = (each.expand(count, *each.shape) for each in context)
    query_x = query_x.expand(count, *query_x.shape).to(x)
    drawn = []
    for place in range(query_x.shape[-2]):
        ppd = model.condition(x, y, **known).predict(query_x[..., [place], :])
        drawn.append(ppd.sample().to(y.dtype))
        x, y = torch.cat([x, query_x[..., [place], :]], dim=-2), torch.cat([y, drawn[-1]], dim=-1)
    return torch.cat(drawn, dim=-1)


def joint_log_prob(
    model: "PFN", context: tuple[Tensor, Tensor], query_x: Tensor, y: Values, known: dict[str, Values | float]
) -> Float[Tensor, "*batch"]:
    """log p(y | context) of all queries together by the chain rule, in the order in which they are given."""
    values = as_tensor(y, "y")
    if values.shape != query_x.shape[:-1]:
        raise ShapeError(
            f"y must have shape (*batch, query) = {tuple(query_x.shape[:-1])}, as query_x; got {tuple(values.shape)}."
        )
    x, seen = context
    query_x, values = query_x.to(x), values.to(seen)
    parts = []
    for place in range(query_x.shape[-2]):
        ppd = model.condition(x, seen, **known).predict(query_x[..., [place], :])
        parts.append(ppd.log_prob(values[..., [place]])[..., 0])
        x = torch.cat([x, query_x[..., [place], :]], dim=-2)
        seen = torch.cat([seen, values[..., [place]]], dim=-1)
    return torch.stack(parts).sum(0)
