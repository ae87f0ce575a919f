import pytest
import torch
from scipy.stats import kstest

from priorfit.errors import InputError, PriorError
from priorfit.priors.gaussian_process import GaussianProcess, cholesky
from priorfit.priors.kernels import KERNELS
from priorfit.seeding import seeded


@pytest.mark.parametrize("kernel", KERNELS)
def test_targets_have_the_covariance_that_the_process_says(kernel):
    gp = GaussianProcess(kernel=kernel, lengthscale=0.5, outputscale=2.0, noise=0.1)
    with seeded(0):
        x = torch.rand(1, 6, 2)
        y = gp.targets(x.expand(40_000, 6, 2)).double()
    expected = gp.noisy_covariance(x)[0]
    torch.testing.assert_close(y.T @ y / len(y), expected, rtol=0, atol=0.07)
    assert torch.allclose(expected.diagonal(), torch.tensor(2.1, dtype=torch.float64))


def test_whitened_targets_are_standard_normal():
    gp = GaussianProcess(num_features=3, kernel="matern52", noise=1e-3)
    with seeded(1):
        datasets = gp.sample(batch_size=200, num_points=20)
    factor = cholesky(gp.noisy_covariance(datasets.x))
    white = torch.linalg.solve_triangular(factor, datasets.y.double()[..., None], upper=False)
    assert kstest(white.flatten().numpy(), "norm").pvalue > 0.01


@pytest.mark.parametrize("num_context", [0, 1, 5, 9])
def test_the_conditional_is_that_of_the_joint_normal(num_context):
    gp = GaussianProcess(num_features=2, lengthscale=0.4, noise=1e-3)
    with seeded(2):
        datasets = gp.draw(torch.rand(3, 10, 2, dtype=torch.float64))
    batch = datasets.split(num_context)
    cross = gp.covariance(batch.query_x, batch.context_x)
    inverse = torch.linalg.inv(gp.noisy_covariance(batch.context_x))
    mean = (cross @ inverse @ batch.context_y[..., None])[..., 0]
    covariance = gp.noisy_covariance(batch.query_x) - cross @ inverse @ cross.mT
    torch.testing.assert_close(batch.query_law.mean, mean, rtol=0, atol=1e-8)
    torch.testing.assert_close(batch.query_law.variance, covariance.diagonal(dim1=-2, dim2=-1), rtol=0, atol=1e-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_targets_and_conditional_have_the_dtype_of_the_inputs(dtype):
    batch = GaussianProcess().draw(torch.rand(2, 5, 1, dtype=dtype)).split(2)
    assert batch.query_y.dtype == batch.query_law.mean.dtype == batch.query_law.stddev.dtype == dtype


def test_noise_of_zero_becomes_the_jitter_and_a_large_dataset_is_still_drawn():
    gp = GaussianProcess(noise=0.0)
    assert gp.noise_variance == gp.jitter
    with seeded(3):
        datasets = gp.sample(batch_size=1, num_points=1_000)
    assert datasets.y.isfinite().all()


def test_noise_above_the_jitter_is_exactly_the_noise():
    assert GaussianProcess(noise=1e-4).noise_variance == 1e-4


def test_a_singular_covariance_says_what_to_raise():
    with pytest.raises(PriorError, match="raise the noise or the jitter"):
        cholesky(torch.ones(2, 3, 3, dtype=torch.float64))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kernel": "rbff"}, "kernel must be one of rbf, matern12"),
        ({"lengthscale": 0.0}, "lengthscale must be positive"),
        ({"outputscale": -1.0}, "outputscale must be positive"),
        ({"jitter": 0.0}, "jitter must be positive"),
        ({"noise": -1e-4}, "noise is a variance"),
        ({"noise": float("nan")}, "noise of a GaussianProcess must be finite; got nan"),
        ({"num_features": 0}, "num_features must be at least 1"),
    ],
)
def test_wrong_fields_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        GaussianProcess(**fields)
