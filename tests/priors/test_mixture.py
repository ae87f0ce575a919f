import pytest
import torch
from torch.distributions import Categorical, Normal

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.priors import (
    BetaBernoulli,
    GaussianProcess,
    LinearRegression,
    Mixture,
    PaddedFeatures,
    Standardized,
    UniformInputs,
)
from priorfit.priors.function import prior
from priorfit.seeding import seeded


def constant(value, **fields):
    return prior(num_features=1, **fields)(lambda x: torch.full(x.shape[:2], float(value)))


def test_components_come_with_their_weights_and_whole_datasets():
    mixture = Mixture([constant(0), constant(1), constant(2)], weights=[1, 2, 5])
    with seeded(0):
        y = mixture.sample(batch_size=8_000, num_points=4).y
    assert torch.equal(y, y[:, :1].expand(-1, 4))
    shares = y[:, 0].long().bincount().double() / 8_000
    torch.testing.assert_close(shares, torch.tensor([1, 2, 5], dtype=torch.float64) / 8, rtol=0, atol=0.02)


def test_equal_weights_are_the_default():
    with seeded(1):
        y = Mixture([constant(0), constant(1)]).targets(torch.rand(4_000, 2, 1))
    assert abs(float(y.mean()) - 0.5) < 0.03


def test_a_component_of_weight_zero_is_never_drawn():
    with seeded(2):
        assert (Mixture([constant(0), constant(1)], weights=[0, 1]).sample(200, 2).y == 1).all()


def test_each_component_draws_its_own_inputs():
    near, far = constant(0, inputs=UniformInputs(0.0, 1.0)), constant(1, inputs=UniformInputs(5.0, 6.0))
    mixture = Mixture([near, far])
    with seeded(3):
        datasets = mixture.sample(batch_size=500, num_points=3)
    assert torch.equal(datasets.x[..., 0] > 3, datasets.y == 1)
    assert mixture.inputs.range == (0.0, 6.0)


def test_given_inputs_stay_with_their_targets():
    sums = prior(num_features=1)(lambda x: 2 * x[..., 0])
    products = prior(num_features=1)(lambda x: -3 * x[..., 0])
    with seeded(4):
        x = torch.rand(50, 4, 1)
        datasets = Mixture([sums, products]).draw(x)
    assert torch.equal(datasets.x, x)
    factor = datasets.y / x[..., 0]
    assert torch.allclose(factor, factor[:, :1])
    assert {round(value) for value in factor.unique().tolist()} == {2, -3}


def test_the_conditional_is_each_components_own():
    known, unknown = GaussianProcess(noise=0.1), constant(7)
    with seeded(5):
        batch = Mixture([known, unknown]).sample(batch_size=40, num_points=6).split(2)
    assert isinstance(batch.query_law, Normal)
    certain = batch.query_y == 7
    assert 0 < certain.sum() < certain.numel()
    assert torch.equal(batch.query_law.scale == 0, certain)
    assert torch.equal(batch.query_law.loc[certain], batch.query_y[certain])


def test_the_conditional_of_classes_falls_back_to_the_drawn_label():
    alternating = prior(num_features=1, outcome=Classes(2))(lambda x: (x[..., 0] > 0.5).long())
    with seeded(6):
        batch = Mixture([BetaBernoulli(), alternating]).sample(batch_size=30, num_points=6).split(2)
    assert isinstance(batch.query_law, Categorical)
    certain = (batch.query_law.probs == 1).any(-1)
    assert certain.any(-1).any()
    assert torch.equal(batch.query_law.probs.argmax(-1)[certain].to(batch.query_y), batch.query_y[certain])


def test_without_any_conditional_there_is_none():
    assert Mixture([constant(0), constant(1)]).sample(3, 4).conditional is None


def test_a_component_may_need_extra_points():
    mixture = Mixture([GaussianProcess(), Standardized(GaussianProcess(), num_reference=10)])
    assert mixture.num_extra == 10
    with seeded(7):
        assert mixture.draw(torch.rand(20, 15, 1)).y.shape == (20, 5)
        assert mixture.targets(torch.rand(20, 15, 1)).shape == (20, 15)
        assert mixture.sample(20, 15).y.shape == (20, 15)


@pytest.mark.parametrize(
    ("priors", "weights", "message"),
    [
        ([], None, "at least one part; got none"),
        ([GaussianProcess(), BetaBernoulli()], None, r"must agree in outcome; got Real\(\), Classes\(count=2\)"),
        ([GaussianProcess(), LinearRegression()], [1.0], "each of its 2 parts; got 1 weights"),
        ([GaussianProcess(), LinearRegression()], [1.0, -1.0], r"at least 0, and not all 0; got \[1.0, -1.0\]"),
    ],
)
def test_components_that_do_not_fit_are_refused(priors, weights, message):
    with pytest.raises(InputError, match=message):
        Mixture(priors, weights)


def test_priors_of_different_features_need_padding():
    mixture = Mixture([GaussianProcess(1), GaussianProcess(2)])
    with pytest.raises(InputError, match=r"different numbers of features \(1, 2\).*PaddedFeatures\(Mixture"):
        mixture.sample(4, 5)
    assert PaddedFeatures(mixture, max_features=3).sample(4, 5).x.shape == (4, 5, 3)
