"""Moments of latents within their supports, beside closed forms."""

import pytest
import torch
from torch.distributions import LogNormal, Normal, Uniform
from torch.special import ndtr

import priorfit as pf
from priorfit.distributions import NormalMixture
from priorfit.network.latent_spaces import spaces_of
from priorfit.network.latents.densities import LatentDensity
from priorfit.priors import ProgramPrior
from priorfit.seeding import seeded

CASES = 100_000


@pf.prior(num_features=1, anywhere=Normal(1.0, 2.0), above=LogNormal(0.3, 0.4), between=Uniform(2.0, 5.0))
def one_of_each(x, anywhere, above, between):
    return Normal(anywhere + above + between + 0 * x[..., 0], 1.0)


def mean_of(kind: str, loc: torch.Tensor, scale: torch.Tensor, low: float, extent: float) -> torch.Tensor:
    """The mean of a Normal that is mapped onto a support."""
    if kind == "above":
        return low + (loc + scale.square() / 2).exp()
    if kind == "bounded":
        return low + extent * ndtr(loc / (1 + scale.square()).sqrt())
    return loc


@pytest.mark.parametrize(("name", "kind"), [("anywhere", "real"), ("above", "above"), ("between", "bounded")])
def test_means_and_variances_are_those_in_closed_form(name: str, kind: str):
    assert isinstance(one_of_each, ProgramPrior)
    with seeded(0):
        spaces = {space.name: space for space in spaces_of(one_of_each.latents, one_of_each.sample_latents(4096))}
        logits, loc = torch.randn(CASES, 3).double(), torch.randn(CASES, 3).double()
        scale = 0.01 + torch.rand(CASES, 3).double()
    space = spaces[name]
    assert space.kind == kind
    density = LatentDensity(NormalMixture(logits, loc, scale, validate_args=False), space)
    shift, unit, probs = float(space.shift[0]), float(space.scale[0]), logits.softmax(-1)
    low, extent = (float(each[0]) if kind != "real" else 0.0 for each in (space.origin, space.extent))
    middle, width = shift + unit * loc, unit * scale
    mean = (probs * mean_of(kind, middle, width, low, extent)).sum(-1)
    torch.testing.assert_close(density.mean, mean, atol=1e-5, rtol=1e-4)
    if kind == "real":
        second = (probs * (width.square() + middle.square())).sum(-1)
        torch.testing.assert_close(density.variance, second - mean.square(), atol=1e-4, rtol=1e-4)
    if kind == "above":
        second = (probs * (2 * middle + 2 * width.square()).exp()).sum(-1) - (mean - low).square()
        torch.testing.assert_close(density.variance, second, atol=1e-4, rtol=1e-2)


def test_a_value_outside_of_the_support_has_no_density():
    assert isinstance(one_of_each, ProgramPrior)
    with seeded(0):
        spaces = {space.name: space for space in spaces_of(one_of_each.latents, one_of_each.sample_latents(4096))}
    parts = (torch.zeros(2, 3).double(), torch.randn(2, 3).double(), torch.ones(2, 3).double())
    density = LatentDensity(NormalMixture(*parts, validate_args=False), spaces["between"])
    found = density.log_prob(torch.tensor([1.0, 3.0]))
    assert found[0] == -torch.inf and bool(found[1].isfinite())
