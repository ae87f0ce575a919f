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
