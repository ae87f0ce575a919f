import numpy as np
import pytest
import torch

from priorfit.data import Classes, Real
from priorfit.errors import InputError, PriorError
from priorfit.priors.function import FunctionPrior, prior
from priorfit.priors.inputs import NormalInputs, UniformInputs
from priorfit.seeding import seeded


def damped_waves(x):
    """Waves that fade."""
    frequency = 2 + 8 * torch.rand(len(x), 1)
    decay = 3 * torch.rand(len(x), 1)
    y = torch.sin(frequency * x[..., 0]) * torch.exp(-decay * x[..., 0])
    return y + 0.05 * torch.randn_like(y)


def drawn(function, **fields):
    return prior(num_features=1, **fields)(function).draw(torch.rand(3, 5, 1))


def test_a_decorated_function_keeps_its_name_and_doc_and_can_be_called():
    waves = prior(num_features=1)(damped_waves)
    assert isinstance(waves, FunctionPrior)
    assert (waves.name, waves.__name__, waves.__doc__, str(waves)) == (
        "damped_waves",
        "damped_waves",
        "Waves that fade.",
        "damped_waves",
    )
    with seeded(0):
        called = waves(torch.ones(2, 3, 1))
    with seeded(0):
        assert torch.equal(called, damped_waves(torch.ones(2, 3, 1)))


def test_a_function_samples_what_it_returns():
    waves = prior(num_features=1)(damped_waves)
    with seeded(1):
        datasets = waves.sample(batch_size=4, num_points=7)
    assert datasets.x.shape == (4, 7, 1)
    with seeded(1):
        x = torch.rand(4, 7, 1)
        assert torch.equal(datasets.y, damped_waves(x))
    assert datasets.conditional is None


def test_defaults_are_uniform_inputs_and_real_targets():
    waves = prior(num_features=1)(damped_waves)
    assert (waves.inputs, waves.outcome) == (UniformInputs(), Real())
    other = prior(num_features=1, inputs=NormalInputs(), outcome=Classes(3), name="other")(damped_waves)
    assert (other.inputs, other.outcome, other.name) == (NormalInputs(), Classes(3), "other")


def test_integer_labels_are_cast_to_the_dtype_of_the_inputs():
    labels = prior(num_features=1, outcome=Classes(3))(lambda x: torch.randint(0, 3, x.shape[:2]))
    assert labels.draw(torch.rand(2, 4, 1, dtype=torch.float64)).y.dtype == torch.float64


def test_targets_carry_no_graph():
    weight = torch.ones(1, requires_grad=True)
    assert not drawn(lambda x: x[..., 0] * weight).y.requires_grad


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x, r"\(batch, points\) = \(3, 5\) for x of shape \(3, 5, 1\); got \(3, 5, 1\). .*take a column"),
        (lambda x: x[0, :, 0], r"got \(5,\). The function gets the whole batch"),
        (lambda x: x[..., 0].T, r"got \(5, 3\). Put the batch first"),
        (lambda x: x.sum(), r"got \(\). Return one number for each point"),
        (lambda x: np.zeros((3, 5)), "a torch tensor .* got ndarray"),
        (lambda x: torch.zeros(3, 5, dtype=torch.int64), r"floating-point targets; got torch.int64. .*outcome=Classes"),
        (lambda x: torch.zeros(3, 5, dtype=torch.complex64), "got torch.complex64"),
        (lambda x: torch.full((3, 5), torch.nan), "NaN or infinity in 100.0%"),
        (lambda x: 1 / torch.zeros(3, 5), "NaN or infinity"),
    ],
)
def test_a_wrong_return_value_is_named_and_explained(function, message):
    with pytest.raises(PriorError, match="prior wrong must return.*" + message):
        drawn(function, name="wrong")


@pytest.mark.parametrize("label", [-1.0, 3.0, 0.5])
def test_labels_out_of_range_are_refused(label):
    with pytest.raises(PriorError, match=rf"labels 0 ... 2 for Classes\(count=3\); got {label:g}"):
        drawn(lambda x: torch.full((3, 5), label), outcome=Classes(3))


def test_a_prior_needs_features():
    with pytest.raises(InputError, match="num_features must be at least 1; got 0"):
        prior(num_features=0)(damped_waves)


def test_the_decorator_without_parentheses_or_number_says_what_to_write():
    with pytest.raises(
        InputError, match=r"got the function damped_waves in its place. Write @pf.prior\(num_features=1\)"
    ):
        prior(damped_waves)
    with pytest.raises(InputError, match="by name; got 2 in its place"):
        prior(2)
    with pytest.raises(InputError, match="by name; got none"):
        prior(outcome=Real())


class Waves:
    """Not a function."""

    def __call__(self, x):
        return damped_waves(x)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, scale: x, r"takes one argument, x of shape .* got the function <lambda> with \(x, scale\)"),
        (lambda: 0, r"takes one argument.* with \(\)"),
        (lambda *, x: x, r"takes one argument.* with \(\*, x\)"),
        (Waves, "decorates a function of x; got the class Waves"),
        (torch.nn.Linear, "got the class Linear"),
        (3, "decorates a function of x; got 3"),
        (None, "decorates a function of x; got None"),
        ("damped_waves", "decorates a function of x; got 'damped_waves'"),
        (prior(num_features=1)(damped_waves), "damped_waves is a prior already. Decorate once"),
    ],
)
def test_what_is_no_function_of_x_alone_is_refused(function, message):
    with pytest.raises(InputError, match=message):
        prior(num_features=1)(function)


@pytest.mark.parametrize("function", [Waves(), lambda x, scale=2.0: scale * x[..., 0], lambda *x: x[0][..., 0]])
def test_whatever_takes_x_alone_is_a_prior(function):
    assert prior(num_features=1)(function).sample(2, 3).y.shape == (2, 3)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_features": 1.5}, "num_features must be a whole number; got 1.5"),
        ({"num_features": True}, "num_features must be a whole number; got True"),
        ({"num_features": "2"}, "num_features must be a whole number; got '2'"),
        ({"num_features": -1}, "num_features must be at least 1; got -1"),
        ({"outcome": "classes"}, r"outcome must be Real\(\) .* or Classes\(count\) .*; got 'classes'"),
        ({"outcome": Classes}, r"Classes\(count\) .*; got the class Classes"),
        ({"outcome": Real}, "got the class Real"),
        ({"outcome": 3}, "; got 3"),
        ({"inputs": (0.0, 1.0)}, r"such as UniformInputs\(0.0, 1.0\) .*; got \(0.0, 1.0\)"),
        ({"inputs": UniformInputs}, "got the class UniformInputs"),
        ({"inputs": torch.rand}, "got the function rand"),
        ({"name": ""}, "name must be a text that is not empty; got ''"),
        ({"name": 3}, "name must be a text that is not empty; got 3"),
    ],
)
def test_a_setting_of_the_wrong_type_is_named(fields, message):
    with pytest.raises(InputError, match=message):
        prior(**{"num_features": 1, **fields})(damped_waves)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("count", [2.0, "3", True, None])
def test_the_number_of_classes_is_whole(count):
    with pytest.raises(InputError, match="count of a Classes must be a whole number; got"):
        Classes(count)


def test_reals_in_place_of_labels_are_told_to_be_reals():
    with pytest.raises(PriorError, match=r"got 0.5. .* say outcome=Real\(\)"):
        drawn(lambda x: torch.full((3, 5), 0.5), outcome=Classes(3))
