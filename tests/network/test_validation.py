"""What is no question that a network can answer, and what is unlike all that it was trained on."""

import pytest
import torch
from network.tiny_networks import SMALL, questions, shaken

from priorfit.data import Classes, Real
from priorfit.errors import InputError, OutsideTrainingWarning, ShapeError
from priorfit.network import Columns, ModelCard, NetworkSettings, Problem
from priorfit.network.validation import is_finite
from priorfit.zoo import load


def test_finite_numbers_are_so_though_their_sum_is_not():
    large = torch.full((4,), 3e38)
    assert is_finite(large) and is_finite(torch.arange(3)) and is_finite(torch.empty(0))
    assert not is_finite(torch.tensor([torch.inf, -torch.inf]))
    assert not is_finite(torch.cat([large, torch.tensor([torch.nan])]))


WRONG = {
    "y that is batch last": (lambda x, y, q: (x, y.T, q), ShapeError, r"\(\*batch, context\) = \(3, 7\).*got \(7, 3\)"),
    "an axis too few": (lambda x, y, q: (x[..., 0], y, q), ShapeError, r"with 2 columns"),
    "other features": (lambda x, y, q: (x, y, q[..., :1]), ShapeError, r"query_x must have shape.*got \(3, 5, 1\)"),
    "another batch": (lambda x, y, q: (x, y, q[:2]), ShapeError, r"batch shape of the context, \(3,\)"),
    "a missing target": (lambda x, y, q: (x, y * torch.nan, q), InputError, "context_y holds NaN"),
    "an infinite input": (lambda x, y, q: (x, y, q / 0), InputError, "query_x holds NaN or infinite"),
}


@pytest.mark.parametrize(("spoil", "error", "message"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.usefixtures("as_users_run_it")
def test_wrong_questions_are_explained(spoil, error, message):
    model = shaken(SMALL, Problem(2, Real(), (0.0, 1.0)))
    context_x, context_y, query_x = spoil(*questions())
    with pytest.raises(error, match=message):
        model.condition(context_x, context_y).predict(query_x)


def test_labels_outside_of_the_classes_are_refused():
    model = shaken(NetworkSettings(width=32, layers=2), Problem(2, Classes(2)))
    context_x, _, _ = questions()
    with pytest.raises(InputError, match=r"classes 0 ... 1; got values from 2 to 2"):
        model.condition(context_x, torch.full((3, 7), 2))
    with pytest.raises(InputError, match="not all whole"):
        model.condition(context_x, torch.full((3, 7), 0.5))


def test_outside_of_its_training_a_model_warns_of_each_limit_that_is_passed():
    model = shaken(SMALL, Problem(2, Real(), (0.0, 1.0), target_range=(-9.0, 9.0)), ModelCard(trained_context=(1, 6)))
    context_x, context_y, query_x = questions()
    with pytest.warns(OutsideTrainingWarning, match="1 to 6 points and is asked about 7") as first:
        posterior = model.condition(context_x, context_y)
    assert len(first) == 1
    for shift in (2, 3):  # the same limit, passed by more
        with pytest.warns(OutsideTrainingWarning, match=rf"inputs in \[0, 1\] and is asked about \[{shift}"):
            posterior.predict(query_x + shift)
    few_x, few_y = context_x[:, :5], context_y[:, :5]
    model.condition(few_x, few_y)  # warnings are errors here
    with pytest.warns(OutsideTrainingWarning, match=r"targets in \[-9, 9\] and is given \[.*Check the units of y"):
        model.condition(few_x, 100 * few_y)


def test_normal_inputs_far_from_all_that_training_showed_are_warned_of():
    model = shaken(NetworkSettings(width=32, layers=2), Problem(2, Real(), columns=Columns(mean=1.0, scale=2.0)))
    context_x, context_y, query_x = questions()
    posterior = model.condition(context_x, context_y)
    with pytest.warns(OutsideTrainingWarning, match=r"inputs in \[-13, 13\] and is asked about"):
        posterior.predict(20 * query_x + 13)


def test_a_class_much_rarer_than_in_training_is_warned_of():
    model = shaken(NetworkSettings(width=32, layers=2), Problem(2, Classes(2), rarest_share=0.35))
    x = torch.rand(200, 2)
    model.condition(x[:6], torch.tensor([1, 0, 0, 0, 0, 0]))  # chance, in so few
    model.condition(x, torch.arange(200) % 3 == 0)
    with pytest.warns(OutsideTrainingWarning, match="rarest class has a share of 35% or more and is given one of 4.0%"):
        model.condition(x, torch.arange(200) < 8)


@pytest.mark.parametrize("size", [1e20, 1e38])
def test_values_that_overflow_inside_are_refused_not_answered_by_nan(size: float):
    model = load("gp-rbf-1d")
    x, y = torch.rand(20, 1), torch.randn(20)
    with (
        pytest.warns(OutsideTrainingWarning, match="Check the units of y"),
        pytest.raises(InputError, match="overflow"),
    ):
        model.condition(x, size * y).predict(x)
