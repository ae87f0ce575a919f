import pytest
import torch

from priorfit.data import Classes, Real
from priorfit.description import build, describe
from priorfit.errors import InputError
from priorfit.network import Problem
from priorfit.network.storage import NETWORK_TYPES
from priorfit.network.validation import check_inputs, readable

NAN = torch.tensor([[0.0, torch.nan], [1.0, 2.0]], dtype=torch.float64)


def test_a_missing_value_is_read_where_the_network_knows_it_and_refused_elsewhere():
    check_inputs(NAN, Problem(2, Real(), missing=True), "context_x", "context")
    with pytest.raises(InputError, match="context_x holds NaN .* no token for missing inputs"):
        check_inputs(NAN, Problem(2, Real()), "context_x", "context")


def test_an_infinite_value_is_never_a_missing_one():
    with pytest.raises(InputError, match="query_x holds infinite values; a missing value is NaN"):
        check_inputs(NAN / 0, Problem(2, Real(), missing=True), "query_x", "query")


def test_a_missing_value_stays_one_in_single_precision():
    assert readable(NAN, torch.zeros(()), "x").isnan().sum() == 1
    with pytest.raises(InputError, match="beyond 3.4e"):
        readable(1e300 * NAN, torch.zeros(()), "x")


@pytest.mark.parametrize(("outcome", "fewest"), [(Classes(10), 1), (Classes(10), 11), (Real(), 2)])
def test_a_number_of_classes_that_no_context_has_is_refused(outcome, fewest: int):
    with pytest.raises(InputError, match=r"2 <= min_classes <= the number of its classes; got"):
        Problem(2, outcome, min_classes=fewest)


def test_a_description_keeps_missing_values_and_classes():
    problem = Problem(3, Classes(10), missing=True, min_classes=2)
    assert build(describe(problem), NETWORK_TYPES) == problem
