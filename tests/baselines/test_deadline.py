import pytest
import torch

from priorfit.baselines.deadline import Deadline
from priorfit.baselines.one_by_one import one_by_one
from priorfit.errors import InputError, TimeLimitError


def test_a_limit_must_be_positive():
    for seconds in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="time_limit is a number of seconds above 0"):
            Deadline(seconds)


def test_what_is_left_goes_down_to_zero_and_no_further():
    assert Deadline(None).left is None
    assert 59 < Deadline(60.0).left <= 60
    assert Deadline(60.0, start=Deadline(None).start - 59).left <= 1
    over = Deadline(60.0, start=Deadline(None).start - 61)
    assert (over.left, over.is_past) == (0, True)


def test_the_error_says_who_ran_out_of_time_and_where():
    error = Deadline(0.5).missed("NutsGP", "warm-up")
    assert isinstance(error, TimeLimitError) and isinstance(error, TimeoutError)
    assert "NutsGP was still in its warm-up after time_limit = 0.5 s" in str(error)


@pytest.mark.parametrize("batch", [(), (3,), (2, 2), (0,)])
@pytest.mark.parametrize("num_context", [0, 4])
def test_datasets_are_answered_one_by_one_in_order(batch: tuple[int, ...], num_context: int):
    x, y = torch.randn(*batch, num_context, 2), torch.randn(*batch, num_context)
    sums = one_by_one(x, y, lambda some_x, some_y: float(some_x.sum() + some_y.sum()))
    torch.testing.assert_close(torch.tensor(sums).reshape(batch), x.sum((-1, -2)) + y.sum(-1))
