import pytest
import torch

from priorfit.errors import InputError
from priorfit.priors import LinearRegression
from priorfit.seeding import seeded


def test_targets_have_the_covariance_of_bayesian_linear_regression():
    prior = LinearRegression(num_features=2, weight_scale=2.0, noise=0.5)
    with seeded(0):
        x = torch.randn(4, 2)
        y = prior.targets(x.expand(40_000, 4, 2))
    torch.testing.assert_close(y.T @ y / len(y), 4 * x @ x.T + 0.5 * torch.eye(4), rtol=0.05, atol=0.15)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_features": 0}, "num_features must be at least 1"),
        ({"weight_scale": 0.0}, "weight_scale must be positive"),
        ({"noise": 0.0}, "noise is a variance: positive"),
    ],
)
def test_wrong_fields_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        LinearRegression(**fields)
