import pytest
import torch
from scipy.stats import betabinom

from priorfit.errors import InputError
from priorfit.priors import BetaBernoulli
from priorfit.seeding import seeded


def test_the_number_of_ones_is_beta_binomial():
    with seeded(0):
        ones = BetaBernoulli(alpha=2.0, beta=0.5).sample(batch_size=40_000, num_points=6).y.sum(1)
    shares = ones.long().bincount(minlength=7).double() / 40_000
    expected = torch.from_numpy(betabinom.pmf(range(7), 6, 2.0, 0.5))
    torch.testing.assert_close(shares, expected, rtol=0, atol=0.01)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"beta": float("inf")}, "beta of a BetaBernoulli must be finite; got inf"),
        ({"num_features": 0}, "num_features must be at least 1"),
    ],
)
def test_wrong_fields_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        BetaBernoulli(**fields)
