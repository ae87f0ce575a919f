import pytest
import torch
from contracts.distributions import CASES
from scipy.stats import kstest
from torch.distributions import Categorical, Normal

from priorfit.distributions.class_probabilities import two_classes
from priorfit.errors import InputError
from priorfit.metrics import coverage, expected_calibration_error, pit
from priorfit.seeding import seeded

LEVELS = torch.tensor([0.1, 0.5, 0.9, 0.99])


@pytest.mark.parametrize(
    "ppd",
    [
        CASES["unbounded_batch"].distribution(),
        Normal(torch.randn(4), 2.0),
        two_classes(torch.tensor([0.1, 0.5, 0.97]).logit()),
        Categorical(torch.tensor([[0.1, 0.2, 0.7], [0.0, 0.5, 0.5]])),
    ],
    ids=["riemann", "normal", "two classes", "three classes"],
)
def test_a_right_prediction_has_uniform_pit_and_covers_its_levels(ppd):
    with seeded(0):
        y = ppd.sample((4000,))
        levels = pit(ppd, y)
        covered = coverage(ppd, y, LEVELS)
    assert levels.shape == y.shape
    assert kstest(levels.flatten().numpy(), "uniform").pvalue > 1e-3
    assert covered.shape == (4,)
    torch.testing.assert_close(covered, LEVELS, rtol=0, atol=0.03)


def test_a_prediction_that_is_too_narrow_covers_too_little():
    with seeded(0):
        y = torch.randn(4000)
    assert coverage(Normal(0.0, 0.5), y, torch.tensor([0.9])) < 0.65


def test_right_class_probabilities_have_almost_no_calibration_error():
    with seeded(0):
        probs = torch.rand(50_000, 3).softmax(-1)
        y = Categorical(probs).sample()
    assert expected_calibration_error(Categorical(probs), y.float()) < 0.015
    assert expected_calibration_error(Categorical(probs**8), y.float()) > 0.1


def test_sure_and_wrong_is_an_error_of_one():
    assert expected_calibration_error(Categorical(torch.tensor([[0.0, 1.0]] * 4)), torch.zeros(4)) == 1


def test_reals_have_no_calibration_error_of_classes():
    with pytest.raises(InputError, match="distribution over classes"):
        expected_calibration_error(Normal(0.0, 1.0), torch.tensor(0.0))
