from dataclasses import replace

import pytest
import torch

import priorfit as pf
from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.priors import ArchitecturePrior, BayesianNetwork
from priorfit.priors.architectures import Constant
from priorfit.priors.bayesian_network import LARGE, SMALL
from priorfit.seeding import seeded

# What is measured here, and the value that was measured before, to three digits.
ENTROPIES = [(SMALL, None, 0.230), (LARGE, None, 0.042), (SMALL, "tanh", 0.377), (LARGE, "tanh", 0.132)]


@pytest.mark.parametrize(("prior", "activation", "expected"), ENTROPIES)
def test_the_labels_of_the_papers_networks_have_the_entropy_measured_before(prior, activation, expected):
    with seeded(0):
        datasets = replace(prior, activation=activation).sample(batch_size=8_000, num_points=20)
    entropies = datasets.conditional(0).entropy().mean(-1)  # (batch)
    error = float(entropies.std()) / len(entropies) ** 0.5
    assert abs(float(entropies.mean()) - expected) < 4 * error + 0.001


@pytest.mark.parametrize(("activation", "kept"), [(None, 1.0), ("relu", 0.5)])
def test_targets_have_the_covariance_of_a_network_with_two_layers(activation, kept):
    prior = BayesianNetwork(num_features=2, hidden=(7,), activation=activation, noise=3.0)
    with seeded(1):
        x = torch.tensor([[1.0, -0.5], [-2.0, 1.0]])  # in opposite directions, where biases count
        y = prior.targets(x.expand(60_000, 2, 2))
    second = y.square().mean(0)
    expected = 1 + 7 * kept * (1 + x.square().sum(-1)) + 3.0
    torch.testing.assert_close(second, expected, rtol=0.03, atol=0)
    if activation is None:
        assert float((y[:, 0] * y[:, 1]).mean()) == pytest.approx(1 + 7 * (1 - 2.5), abs=0.5)


def test_without_activation_the_difference_of_the_logits_is_linear_in_x():
    with seeded(0):
        x = torch.randn(4, 1, 3, dtype=torch.float64)
        along = torch.tensor([-0.2, 0.0, 0.2], dtype=torch.float64)[:, None] * x  # three points on a line
        for activation, linear in ((None, True), ("tanh", False)):
            logits = replace(SMALL, activation=activation).draw(along).conditional(0).logits
            difference = logits[..., 1] - logits[..., 0]  # (batch, points)
            bend = (difference[:, 0] + difference[:, 2] - 2 * difference[:, 1]).abs()
            assert (bend < 1e-6).all() == linear


def test_more_hidden_layers_and_none_are_possible():
    for hidden in ((), (4, 6, 3)):
        prior = BayesianNetwork(hidden=hidden, activation="tanh", outcome=Classes(3))
        with seeded(0):
            assert prior.sample(batch_size=50, num_points=10).y.unique().tolist() == [0, 1, 2]


def test_an_architecture_of_constants_has_the_law_of_the_fixed_network():
    drawn = ArchitecturePrior(
        layers=Constant(2), width=Constant(5), weight_scale=Constant(1.0), noise_scale=Constant(0.1)
    )
    with seeded(2):
        x = torch.randn(1, 2, 3).expand(3_000, 2, 3)
        y = BayesianNetwork(architecture=drawn).targets(x).abs()
        fixed = BayesianNetwork(activation="tanh", noise=0.01).targets(x).abs()
    for power in (1, 2):
        a, b = y**power, fixed**power
        error = (a.var(0) + b.var(0)).div(len(a)).sqrt()
        assert ((a.mean(0) - b.mean(0)).abs() < 4 * error).all()


def test_the_noise_of_an_architecture_reaches_real_targets_and_logits():
    quiet = ArchitecturePrior(weight_scale=Constant(0.0), noise_scale=Constant(2.0), width=Constant(3))
    with seeded(3):
        y = BayesianNetwork(architecture=quiet).sample(batch_size=50, num_points=100).y
        labels = BayesianNetwork(architecture=quiet, outcome=Classes(2)).sample(batch_size=50, num_points=100)
    assert float(y.std()) == pytest.approx(2.0, rel=0.05)
    logits = labels.conditional(0).logits
    assert float((logits[..., 1] - logits[..., 0]).std()) == pytest.approx(8**0.5, rel=0.05)


def test_the_tabular_prior_of_the_paper_is_a_composition():
    prior = pf.PaddedFeatures(pf.Binarized(pf.BayesianNetwork(architecture=pf.ArchitecturePrior())), max_features=60)
    assert prior.offers_expected
    with seeded(0):
        datasets = prior.sample(batch_size=32, num_points=20)
    assert datasets.x.shape == (32, 20, 60)
    assert set(datasets.y.unique().tolist()) == {0, 1}
    assert float(datasets.y.mean()) == pytest.approx(0.5, abs=0.1)
    assert (datasets.x == 0).all(1).any(), "some columns are not in use"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_features": 0}, "num_features and hidden must be at least 1"),
        ({"hidden": (5, 0)}, r"at least 1; got 3 and \[5, 0\]"),
        ({"activation": "sine"}, "activation must be None or one of tanh, relu; got 'sine'"),
        ({"noise": -1.0}, "noise is a variance: at least 0"),
        ({"architecture": ArchitecturePrior(), "hidden": (64,)}, "leave those three out"),
    ],
)
def test_wrong_fields_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        BayesianNetwork(**{"outcome": Real(), **fields})
