"""What a distribution and a metric may be asked about, and how they answer to what is no real number."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch.distributions import Categorical, Normal

from priorfit.distributions import BoundedRiemann, NormalMixture, UnboundedRiemann, affine
from priorfit.distributions.values import as_probability
from priorfit.errors import InputError, ShapeError
from priorfit.metrics import (
    coverage,
    crps,
    expected_improvement,
    interval,
    pit,
    probability_of_improvement,
    upper_confidence_bound,
)
from priorfit.metrics.survival import survival

BORDERS = torch.tensor([-2.0, -1.0, 1.0, 2.0])
OURS = {
    "bounded": BoundedRiemann(BORDERS, torch.zeros(4, 3)),
    "unbounded": UnboundedRiemann(BORDERS, torch.zeros(4, 3)),
    "mixture": NormalMixture(torch.zeros(4, 2), torch.tensor([-1.0, 1.0]), torch.tensor([0.5, 1.0])),
    "affine": affine(NormalMixture(torch.zeros(4, 2), torch.zeros(2), torch.ones(2)), 0.5, 0.1),
}
each_of_ours = pytest.mark.parametrize("ppd", OURS.values(), ids=OURS.keys())
each = pytest.mark.parametrize(
    "ppd", [*OURS.values(), Normal(torch.zeros(4), torch.ones(4))], ids=[*OURS.keys(), "normal"]
)

METHODS = {name: lambda ppd, value, name=name: getattr(ppd, name)(value) for name in ("log_prob", "cdf", "icdf")}
FUNCTIONS = {
    "survival": survival,
    "crps": crps,
    "pit": pit,
    "improvement": lambda ppd, value: expected_improvement(ppd, value, goal="maximise"),
    "shortfall": lambda ppd, value: expected_improvement(ppd, value, goal="minimise"),
    "above": lambda ppd, value: probability_of_improvement(ppd, value, goal="maximise"),
    "below": lambda ppd, value: probability_of_improvement(ppd, value, goal="minimise"),
}
each_method = pytest.mark.parametrize("ask", METHODS.values(), ids=METHODS.keys())
each_function = pytest.mark.parametrize("ask", FUNCTIONS.values(), ids=FUNCTIONS.keys())
each_question = pytest.mark.parametrize("ask", [*METHODS.values(), *FUNCTIONS.values()], ids=[*METHODS, *FUNCTIONS])
LEVEL_FUNCTIONS = {
    "interval": interval,
    "bound": lambda ppd, level: upper_confidence_bound(ppd, level, goal="maximise"),
    "coverage": lambda ppd, level: coverage(ppd, torch.zeros(4), level),
}
each_level_function = pytest.mark.parametrize("ask", LEVEL_FUNCTIONS.values(), ids=LEVEL_FUNCTIONS.keys())

ONE = {
    "float": 0.25,
    "numpy_float64": np.float64(0.25),
    "numpy_float32": np.float32(0.25),
    "array": np.array(0.25),
    "list": [0.25],
    "float64": torch.tensor(0.25, dtype=torch.float64),
}


@contextmanager
def case(value: object) -> Iterator[None]:
    """A failure inside says at which case of a table it was: a test for each would take longer than what it tests."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"at the case {value!r}")
        raise


def answers_alike(ask, ppd, value):
    answer = ask(ppd, value)
    assert answer.dtype == torch.float32
    torch.testing.assert_close(answer, ask(ppd, torch.tensor(0.25)))


@each_of_ours
@each_method
def test_methods_take_a_number_in_any_form(ppd, ask):
    for name, value in ONE.items():
        with case(name):
            answers_alike(ask, ppd, value)


@each
@each_function
def test_functions_take_a_number_in_any_form(ppd, ask):
    for name, value in ONE.items():
        with case(name):
            answers_alike(ask, ppd, value)


@each_of_ours
@each_question
def test_arrays_and_integers_equal_tensors_of_floats(ppd, ask):
    values = np.array([0.1, 0.3, 0.5, 0.9])
    expected = ask(ppd, torch.tensor(values, dtype=torch.float32))
    for form in (values, values.astype(np.float32), values[::-1].copy()[::-1], values.tolist()):
        torch.testing.assert_close(ask(ppd, form), expected)
    for whole in (1, np.int64(1), torch.tensor(1), np.array([1, 1, 1, 1])):
        torch.testing.assert_close(ask(ppd, whole), ask(ppd, torch.ones(4)), equal_nan=True)


@each_of_ours
@each_question
def test_several_values_go_on_an_axis_before_the_batch(ppd, ask):
    values = torch.tensor([0.05, 0.5, 0.95])
    together = ask(ppd, values[:, None])
    assert together.shape == (3, 4)
    torch.testing.assert_close(together, torch.stack([ask(ppd, value) for value in values]))
    torch.testing.assert_close(together, ask(ppd, values.numpy()[:, None]))


@each_of_ours
@each_question
def test_values_that_do_not_broadcast_are_refused(ppd, ask):
    expected = r"values must broadcast with the batch shape \(4,\).*add axes at the end: shape \(.*1\)"
    for shape in ((3,), (2, 3), (4, 1, 5)):
        with case(shape), pytest.raises(ShapeError, match=expected):
            ask(ppd, torch.full(shape, 0.5))


NO_NUMBERS = {
    "string": "0.5",
    "strings": ["0.5", "a"],
    "none": None,
    "bool": True,
    "bools": torch.tensor([True, False, True, True]),
    "complex": 0.5j,
    "complex_tensor": torch.tensor(0.5j),
    "ragged": [[0.1], [0.2, 0.3]],
    "object": np.array([None, 0.5], dtype=object),
    "dict": {"level": 0.5},
}


@each_of_ours
@each_question
def test_what_is_no_real_number_is_refused(ppd, ask, as_users_run_it):
    for name, value in NO_NUMBERS.items():
        with case(name), pytest.raises(InputError, match="expected (real )?numbers"):
            ask(ppd, value)


@each_level_function
def test_what_is_no_level_is_refused(ask, as_users_run_it):
    for name, value in NO_NUMBERS.items():
        with case(name), pytest.raises(InputError, match="expected (real )?numbers"):
            ask(OURS["mixture"], value)


@each
@each_level_function
def test_a_level_that_is_no_probability_is_refused(ppd, ask):
    for level in (-0.1, 1.1, float("nan"), float("inf"), 95, np.float32(2.0)):
        with case(level), pytest.raises(InputError, match="must be (a probability|probabilities) from 0 to 1; got"):
            ask(ppd, level)


@each_of_ours
def test_there_is_no_quantile_at_what_is_no_probability(ppd):
    for level in (-0.1, 1.1, float("nan"), float("inf"), -float("inf")):
        with case(level):
            assert ppd.icdf(level).isnan().all()
            levels = torch.tensor([0.2, level, 0.4, 0.6])
            assert torch.equal(ppd.icdf(levels).isnan(), torch.tensor([False, True, False, False]))


@each
@each_level_function
def test_a_level_may_be_any_number(ppd, ask):
    expected = ask(ppd, 0.9)
    for level in (np.float64(0.9), np.array(0.9), torch.tensor(0.9, dtype=torch.float64), [0.9]):
        torch.testing.assert_close(ask(ppd, level), expected)


def test_one_level_is_one():
    with pytest.raises(ShapeError, match=r"level must be one number; got shape \(2,\)"):
        as_probability([0.1, 0.9])


@pytest.mark.parametrize("ppd", [Categorical(torch.ones(4, 3)), Categorical(torch.ones(4, 2))])
@pytest.mark.parametrize(
    "ask",
    [*(ask for name, ask in FUNCTIONS.items() if name != "pit"), interval, LEVEL_FUNCTIONS["bound"]],
    ids=[*(name for name in FUNCTIONS if name != "pit"), "interval", "bound"],
)
def test_metrics_of_reals_refuse_classes(ppd, ask):
    with pytest.raises(InputError, match="expected a distribution of reals; got Categorical"):
        ask(ppd, 0.5)


def test_gradients_of_levels_and_values_flow():
    for ppd in OURS.values():
        level = torch.tensor([0.2, 0.5, 0.7, 0.9], requires_grad=True)
        ppd.icdf(level).sum().backward()
        assert level.grad is not None
        torch.testing.assert_close(level.grad, 1 / ppd.log_prob(ppd.icdf(level.detach())).exp(), rtol=1e-3, atol=1e-5)
