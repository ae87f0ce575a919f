from dataclasses import fields, replace

import pytest
import torch
from scipy.stats import beta, kstest

from priorfit.errors import InputError
from priorfit.priors.architectures import (
    Architecture,
    ArchitecturePrior,
    Beta,
    Constant,
    GammaRange,
    ScaledBeta,
    search_space,
)
from priorfit.seeding import seeded


def test_a_scaled_beta_rounds_a_beta_between_its_ends():
    with seeded(0):
        drawn = ScaledBeta(1.1, 2.0, maximum=5, minimum=2).sample(20_000)
    edges = torch.tensor([0, 0.5, 1.5, 2.5, 3]) / 3
    expected = torch.tensor(beta(1.1, 2.0).cdf(edges)).diff()
    shares = torch.bincount(drawn.long() - 2) / len(drawn)
    torch.testing.assert_close(shares.double(), expected, rtol=0, atol=0.015)


def test_a_beta_has_the_law_it_says():
    with seeded(0):
        assert kstest(Beta(2.0, 1.4).sample(5_000).numpy(), beta(2.0, 1.4).cdf).pvalue > 1e-3


def test_a_gamma_range_has_the_moments_of_its_two_levels():
    with seeded(0):
        drawn = GammaRange(k=(1.5, 5.0), theta=(0.01, 1.0)).sample(40_000)
    k, theta = 3.25, 0.505
    mean_squares = (k**2 + 3.5**2 / 12 + k) * (theta**2 + 0.99**2 / 12)  # E k(k + 1) E theta^2
    assert float(drawn.mean()) == pytest.approx(k * theta, rel=0.02)
    assert float(drawn.square().mean()) == pytest.approx(mean_squares, rel=0.05)


def test_the_first_option_of_every_row_of_the_table_is_the_default():
    space = search_space(max_features=60)
    assert set(space) == {field.name for field in fields(ArchitecturePrior)}
    assert ArchitecturePrior(**{name: options[0] for name, options in space.items()}) == ArchitecturePrior()


@pytest.mark.parametrize(("name", "option"), [(name, option) for name, row in search_space().items() for option in row])
def test_every_option_of_the_table_draws_a_network(name, option):
    with seeded(0):
        architectures = replace(ArchitecturePrior(), **{name: option}).sample(3)
        for each in architectures:
            assert each.outputs(torch.randn(5, 60), num_outputs=2).isfinite().all()


def test_datasets_have_different_architectures():
    prior = ArchitecturePrior(layers=ScaledBeta(1.1, 1.3, 4, 3), sparsity=Beta(1.1, 1.4), activations=("tanh", "relu"))
    with seeded(0):
        architectures = prior.sample(64)
    for field in fields(Architecture):
        assert len({getattr(each, field.name) for each in architectures}) > 1, field.name


@pytest.mark.parametrize("sparsity", [0.0, 0.4])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_outputs_have_the_variance_of_a_sparse_noisy_relu_network(layers, sparsity):
    """A symmetric unit keeps half of its second moment behind a ReLU, and a sparse weight has scale^2 / kept."""
    width, scale, noise = 6, 0.7, 0.5
    network = Architecture(layers, width, scale, noise, sparsity, "relu")
    x = torch.tensor([[1.0, -2.0, 0.5]])
    with seeded(1, layers):
        squares = torch.cat([network.outputs(x, num_outputs=16) for _ in range(1_000)]).square().mean(-1)
    kept = 1 - sparsity
    moment = scale**2 * (float(x.square().sum()) + 1 / kept)
    for layer in range(1, layers):
        noisy = moment + (noise**2 if layer > 1 else 0)
        moment = scale**2 / kept * (1 + width * noisy / 2)
    assert abs(float(squares.mean()) - moment) < 4 * float(squares.std()) / len(squares) ** 0.5


def test_almost_everything_dropped_is_still_finite():
    with seeded(0):
        [architecture] = ArchitecturePrior(sparsity=Constant(1.0)).sample(1)
        assert architecture.outputs(torch.randn(5, 3), num_outputs=1).isfinite().all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Beta(0.0, 1.0), "a must be positive"),
        (lambda: ScaledBeta(1.0, 1.0, maximum=2, minimum=3), "minimum <= maximum; got 3 and 2"),
        (lambda: GammaRange(k=(2.0, 1.0)), "k must be a range"),
        (lambda: ArchitecturePrior(activations=("sine",)), "activations must be some of tanh, relu"),
        (lambda: ArchitecturePrior(activations=()), "activations must be some of tanh, relu"),
        (lambda: ArchitecturePrior(layers=Constant(0)), "layers must lie between 1 and inf"),
        (lambda: ArchitecturePrior(width=ScaledBeta(1.0, 1.0, 8, 0)), "width must lie between 1"),
        (lambda: ArchitecturePrior(weight_scale=Constant(-1.0)), "weight_scale must lie between 0"),
        (lambda: ArchitecturePrior(sparsity=Constant(1.5)), "sparsity must lie between 0 and 1"),
    ],
)
def test_wrong_fields_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
