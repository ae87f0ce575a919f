"""A prior bound to a model again: a file holds no code, so the prior is given, and checked against what was saved."""

import torch

from priorfit.errors import InputError
from priorfit.network.latent_spaces import spaces_of
from priorfit.network.model import Model
from priorfit.priors import Prior
from priorfit.priors.latents import sampled
from priorfit.seeding import seeded

DRAWN = (4, 3)
"""Datasets and points of the draws that a prior is recognised by."""


def fingerprint(prior: Prior) -> list[float]:
    """Targets and latents of a few draws with a fixed seed, by which a prior is recognised."""
    with seeded(0):
        drawn = prior.sample(*DRAWN)
    parts = [drawn.y, *(drawn.latents[name] for name in sorted(drawn.latents))]
    return [round(float(number), 6) for part in parts for number in part.flatten()]


def bound(model: Model, prior: Prior) -> Model:
    """The model with its prior, if the prior is the one that it was trained on."""
    if not isinstance(prior, Prior):
        raise InputError(f"load takes the prior that the model was trained on; got {prior!r}.")
    _check_latents(model, prior)
    saved = model.card.training.get("fingerprint")
    found = fingerprint(prior)
    is_same = saved is None or (
        len(saved) == len(found) and torch.allclose(torch.tensor(saved), torch.tensor(found), rtol=1e-3, atol=1e-4)
    )
    if not is_same:
        raise InputError(
            f"prior {prior} is not the one that {model.card.name!r} was trained on: draws with the same seed differ. "
            "Bind the prior as it was then, or fit a network to the new one."
        )
    model.prior = prior
    return model


def _check_latents(model: Model, prior: Prior) -> None:
    expected = {space.name: (space.size, space.support) for space in model.problem.latents}
    with seeded(0):
        spaces = spaces_of(prior.latents, sampled(prior.latents, 512)) if prior.latents else ()
    found = {space.name: (space.size, space.support) for space in spaces}
    if expected and found != expected:
        saved, given = (
            ", ".join(f"{name} ({support})" for name, (_, support) in each.items()) or "none"
            for each in (expected, found)
        )
        raise InputError(
            f"prior {prior} does not fit the file of {model.card.name!r}: its latents are {given}; those of the file "
            f"are {saved}. Bind the prior that the model was trained on."
        )
