import pytest
import torch
from sklearn.gaussian_process.kernels import RBF, Matern

from priorfit.priors.kernels import KERNELS, distances
from priorfit.seeding import seeded

REFERENCES = {
    "rbf": RBF(1.0),
    "matern12": Matern(1.0, nu=0.5),
    "matern32": Matern(1.0, nu=1.5),
    "matern52": Matern(1.0, nu=2.5),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("num_features", [1, 3])
def test_a_kernel_equals_scikit_learns(name, num_features):
    with seeded(0):
        a, b = torch.randn(7, num_features, dtype=torch.float64), torch.randn(5, num_features, dtype=torch.float64)
    expected = torch.from_numpy(REFERENCES[name](a.numpy(), b.numpy()))
    torch.testing.assert_close(KERNELS[name](distances(a, b)), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("num_features", [1, 2])
def test_a_kernel_of_equal_points_has_a_finite_gradient(name, num_features):
    a = torch.zeros(3, num_features, dtype=torch.float64, requires_grad=True)
    KERNELS[name](distances(a, a.detach().clone())).sum().backward()
    assert torch.equal(a.grad, torch.zeros_like(a))


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_has_the_gradient_of_finite_differences(name):
    with seeded(1):
        a, b = torch.rand(4, 2, dtype=torch.float64, requires_grad=True), torch.rand(3, 2, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda a: KERNELS[name](distances(a, b)), (a,))


def test_distances_of_equal_points_are_exactly_zero():
    x = torch.full((2, 4, 3), 1e3 / 3, dtype=torch.float64)
    assert torch.equal(distances(x, x), torch.zeros(2, 4, 4, dtype=torch.float64))
