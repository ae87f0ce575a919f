import math

import torch
from torch.distributions import MultivariateNormal, StudentT

from priorfit.importance.kernels import FREEDOM, Kernels, kernels_around
from priorfit.seeding import seeded


def some_kernels(dimension: int) -> Kernels:
    """Three kernels for each of two datasets."""
    with seeded(0):
        factors = torch.randn(2, 3, dimension, dimension).double().tril()
        factors.diagonal(dim1=-2, dim2=-1).abs_().add_(0.2)
        return Kernels(torch.randn(2, 3, dimension).double(), factors)


def test_the_density_in_one_dimension_is_that_of_students_t():
    kernels = some_kernels(1)
    u = torch.linspace(-5, 5, 101).double().expand(2, -1)[..., None]
    parts = StudentT(FREEDOM, kernels.centres[:, None, :, 0], kernels.factors[:, None, :, 0, 0])
    expected = parts.log_prob(u).logsumexp(-1) - math.log(3)
    torch.testing.assert_close(kernels.log_density(u), expected)


def test_the_density_in_two_dimensions_is_a_gaussian_scale_mixture():
    kernels = some_kernels(2)
    u = torch.randn(2, 50, 2, generator=torch.Generator().manual_seed(1)).double()
    precision = torch.distributions.Gamma(FREEDOM / 2, FREEDOM / 2).sample((200_000,)).double()
    for dataset in range(2):
        parts = []
        for kernel in range(3):
            normal = MultivariateNormal(torch.zeros(2).double(), scale_tril=torch.eye(2).double())
            white = torch.linalg.solve_triangular(
                kernels.factors[dataset, kernel], (u[dataset] - kernels.centres[dataset, kernel]).mT, upper=False
            ).mT
            scaled = white[:, None] * precision[None, :, None].sqrt()  # (draws, scales, 2)
            density = (normal.log_prob(scaled) + precision.log()).logsumexp(1) - math.log(len(precision))
            parts.append(density - kernels.factors[dataset, kernel].diagonal().log().sum())
        expected = torch.stack(parts).logsumexp(0) - math.log(3)
        torch.testing.assert_close(kernels.log_density(u)[dataset], expected, rtol=0, atol=0.02)


def test_draws_follow_the_density():
    kernels = some_kernels(2)
    with seeded(1):
        u = kernels.draws(100_000)  # (2, 300_000, 2)
    uniform = Kernels(kernels.centres, 2 * kernels.factors)  # E[q / p] under p is 1 for any density q
    ratio = (uniform.log_density(u) - kernels.log_density(u)).exp()
    error = ratio.std(1) / ratio.shape[1] ** 0.5
    assert ((ratio.mean(1) - 1).abs() < 4 * error).all() and (error < 0.01).all()


def test_half_of_the_kernels_are_as_narrow_as_the_part_they_are_in():
    with seeded(2):
        wide, narrow = torch.randn(1, 5_000, 2).double(), 0.01 * torch.randn(1, 5_000, 2).double() + 8
    kernels = kernels_around(torch.cat([wide, narrow], 1), torch.full((1, 10_000), 1e-4).double(), 64)
    scale = kernels.factors.diagonal(dim1=-2, dim2=-1).amax(-1)[0]
    in_narrow = kernels.centres[0, :, 0] > 6
    assert 20 < int(in_narrow.sum()) < 44
    assert (scale[::2][in_narrow[::2]] < 0.05).all()
    assert (scale[::2][~in_narrow[::2]] > 0.1).all()
    assert (scale[1::2] > 0.5).all()


def test_few_kernels_are_as_wide_as_few_draws_ask_for():
    """With many draws behind them too, since what the kernels must cover is the distance between their centres."""
    with seeded(3):
        u = torch.randn(20, 20_000, 1).double()
        weights = torch.full((20, 20_000), 1 / 20_000).double()
        few, many = (kernels_around(u, weights, count).factors[:, 1::2].flatten() for count in (32, 512))
        kernels = kernels_around(u, weights, 32)
    silverman = [(4 / (3 * count)) ** 0.2 for count in (32, 512)]
    torch.testing.assert_close(few, torch.full_like(few, silverman[0]), rtol=0.03, atol=0)
    torch.testing.assert_close(many, torch.full_like(many, silverman[1]), rtol=0.03, atol=0)
    grid = torch.linspace(-2, 2, 401).double().expand(20, -1)[..., None]
    ratio = torch.distributions.Normal(0.0, 1.0).log_prob(grid[..., 0]) - kernels.log_density(grid)
    assert float(ratio.max()) < 1.5  # no gap between centres
