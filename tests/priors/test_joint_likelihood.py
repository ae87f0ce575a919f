"""Simulators whose points depend on each other, with the likelihood of all of them."""

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal

import priorfit as pf
from priorfit.errors import InputError, PriorError
from priorfit.network import NetworkSettings
from priorfit.priors import ProgramPrior
from priorfit.seeding import seeded

SHARED, NOISE = 0.5, 0.2


@pf.prior(num_features=1, level=Normal(0.0, 1.0), slope=Normal(0.0, 1.0))
def drift(x, level, slope):
    """Lines with an error that all points share."""
    error = SHARED * torch.randn(len(x), 1) + NOISE * torch.randn(x.shape[:2])
    return level + slope * x[..., 0] + error


def covariance(points: int) -> torch.Tensor:
    return SHARED**2 + NOISE**2 * torch.eye(points, dtype=torch.float64)


def likelihood(x, y, level, slope):
    mean = (level + slope * x[..., 0]).double()
    return MultivariateNormal(mean, covariance(y.shape[1])).log_prob(y.double())


def fitted(prior: pf.Prior) -> pf.PFN:
    network = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16)
    return pf.fit(prior, num_points=10, steps=20, network=network, progress=False)


def test_refined_latents_are_the_exact_posterior():
    """The posterior of a linear regression with correlated errors, which a product over points would be far from."""
    assert isinstance(drift, ProgramPrior)
    known = drift.with_likelihood(likelihood)
    with seeded(0):
        tasks = known.sample(40, 8)
    refined = fitted(known).condition(tasks.x, tasks.y).refined(1024)
    assert bool(refined.is_reliable.all())
    design = torch.cat([torch.ones_like(tasks.x), tasks.x], dim=-1).double()
    weighed = design.mT @ covariance(8).inverse()
    spread = (torch.eye(2) + weighed @ design).inverse()
    exact = (spread @ weighed @ tasks.y.double()[..., None])[..., 0]
    deviation = spread.diagonal(dim1=-2, dim2=-1).sqrt()
    for place, name in enumerate(("level", "slope")):
        found = refined.latents[name]
        assert float(((found.mean - exact[:, place]) / deviation[:, place]).abs().mean()) < 0.1
        torch.testing.assert_close(found.stddev, deviation[:, place], atol=0, rtol=0.15)


def test_the_likelihood_is_in_float64_and_nan_counts_as_zero():
    assert isinstance(drift, ProgramPrior)
    known = drift.with_likelihood(lambda x, y, level, slope: (level[:, 0] - 10).sqrt().float())
    with seeded(0):
        tasks = known.sample(3, 4)
    found = known.log_likelihood(tasks.x, tasks.y, tasks.latents)
    assert found.dtype == torch.float64 and bool((found == -torch.inf).all())


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        (lambda x, y, **_: y, r"one number for each dataset, \(batch,\) = \(3,\); got \(3, 4\). Sum log densities"),
        (lambda x, y, **_: 0.0, "got float"),
    ],
)
def test_a_likelihood_of_another_shape_is_refused(joint, words: str):
    assert isinstance(drift, ProgramPrior)
    known = drift.with_likelihood(joint)
    with seeded(0):
        tasks = known.sample(3, 4)
    with pytest.raises(PriorError, match=words):
        known.log_likelihood(tasks.x, tasks.y, tasks.latents)


def test_what_needs_the_law_of_one_point_says_so():
    assert isinstance(drift, ProgramPrior)
    known = drift.with_likelihood(likelihood)
    with seeded(0):
        tasks = known.sample(2, 6)
    refined = fitted(known).condition(tasks.x, tasks.y).refined(64)
    with pytest.raises(InputError, match="no law of one point, which predictions need"):
        refined.predict(tasks.x)
    with pytest.raises(InputError, match="a likelihood is a function"):
        drift.with_likelihood(3)


def test_a_law_takes_no_other_likelihood():
    @pf.prior(num_features=1, level=Normal(0.0, 1.0))
    def constant(x, level):
        return Normal(level, 0.1)

    assert isinstance(constant, ProgramPrior)
    with pytest.raises(InputError, match="returns a law, which is its likelihood"):
        constant.with_likelihood(likelihood)
