import pytest
import torch
from scipy.stats import beta, norm

from priorfit.description import build, describe
from priorfit.errors import InputError
from priorfit.priors import (
    PRIORS,
    Beta,
    Binarized,
    CategoricalFeatures,
    Constant,
    GaussianProcess,
    LinearRegression,
    NormalInputs,
    PaddedFeatures,
)
from priorfit.seeding import seeded

LINES = LinearRegression(num_features=3, noise=1.0)


def drawn(wrapper, seed, batch_size=50, num_points=200):
    """Inputs, and what the wrapper makes of them."""
    with seeded(seed):
        x = wrapper.inputs.sample(batch_size, wrapper.num_extra + num_points, 3)
        return x[:, wrapper.num_extra :], wrapper.draw(x)


def test_the_function_sees_the_numbers_behind_the_codes():
    wrapper = CategoricalFeatures(LINES, share=Constant(1.0))
    with seeded(0):
        x = torch.randn(5, 8, 3)
        inner = LINES.draw(x)
    with seeded(0):
        torch.randn(5, 8, 3)
        outer = wrapper.draw(x)
    assert torch.equal(outer.y, inner.y)
    assert not torch.isclose(outer.x, x).any()
    ours, theirs = (datasets.split(3).query_law for datasets in (outer, inner))
    assert ours is not None and theirs is not None
    assert torch.equal(ours.mean, theirs.mean)


def test_ordinal_codes_rise_with_the_number_by_equal_strides():
    x, datasets = drawn(CategoricalFeatures(LINES, Constant(1.0), 1.0, ordinal_cuts=Constant(4)), seed=1)
    for column, codes in zip(x.mT.flatten(0, 1), datasets.x.mT.flatten(0, 1), strict=True):
        levels = codes.unique()
        assert len(levels) <= 5
        ordered = codes[column.argsort()]
        assert (ordered.diff() >= 0).all()
        strides = levels.diff() / levels.diff().min()
        torch.testing.assert_close(strides, strides.round(), rtol=0, atol=1e-3)


def test_levels_are_cut_within_half_a_deviation_of_the_mean():
    x, datasets = drawn(CategoricalFeatures(LINES, Constant(1.0), 1.0, ordinal_cuts=Constant(1)), seed=2)
    upper = datasets.x > 0  # one cut: two levels, of codes below and above the mean
    places = torch.where(upper, x, torch.inf).amin(1).flatten()  # just above the cut of each column
    assert places.min() > -0.5 and places.max() < 0.56
    assert abs(float(places.mean())) < 0.1 and abs(float(places.std()) - 1 / 12**0.5) < 0.05


@pytest.mark.parametrize("ordinal_share", [0.0, 1.0])
def test_codes_have_the_mean_and_deviation_of_the_inputs(ordinal_share):
    lines = LinearRegression(num_features=3, inputs=NormalInputs(2.0, 3.0))
    wrapper = CategoricalFeatures(lines, Constant(1.0), ordinal_share)
    _, datasets = drawn(wrapper, seed=3, batch_size=100, num_points=4_000)
    mean, deviation = datasets.x.mean(1).flatten(), datasets.x.std(1).flatten()
    assert (mean - 2.0).abs().max() < 5 * 3 / 4_000**0.5
    torch.testing.assert_close(deviation, torch.full_like(deviation, 3.0), rtol=0.1, atol=0)


def test_two_codes_are_those_of_a_standardised_coin():
    x, datasets = drawn(CategoricalFeatures(LINES, Constant(1.0), 1.0, ordinal_cuts=Constant(1)), seed=4)
    low, high = datasets.x.amin(1).double(), datasets.x.amax(1).double()
    share = 1 / (1 + high.square())  # of the upper level, whose code is sqrt((1 - p) / p)
    torch.testing.assert_close(low * high, torch.full_like(low, -1.0), rtol=0, atol=1e-5)
    below = torch.where(datasets.x < 0, x, -torch.inf).amax(1).double()
    above = torch.where(datasets.x > 0, x, torch.inf).amin(1).double()
    assert (share >= torch.from_numpy(norm.sf(above)) - 1e-6).all()
    assert (share <= torch.from_numpy(norm.sf(below)) + 1e-6).all()


def test_nominal_codes_are_any_order_of_the_levels_equally_often():
    wrapper = CategoricalFeatures(LINES, Constant(1.0), 0.0, nominal_cuts=Constant(2))
    x, datasets = drawn(wrapper, seed=5, batch_size=1_000, num_points=400)
    numbers, codes = x.mT.flatten(0, 1), datasets.x.mT.flatten(0, 1)
    low, high = (codes.gather(1, end[:, None]) for end in (numbers.argmin(1), numbers.argmax(1)))
    smallest, largest = codes.amin(1, keepdim=True), codes.amax(1, keepdim=True)
    is_rising = (low == smallest) & (high == largest)
    is_inner_largest = (low != largest) & (high != largest)
    assert abs(float(is_rising.double().mean()) - 1 / 6) < 0.03
    assert abs(float(is_inner_largest.double().mean()) - 1 / 3) < 0.04


def test_a_share_of_the_columns_in_use_is_categorical():
    columns = CategoricalFeatures(LinearRegression(num_features=8))
    wrapper = PaddedFeatures(columns, max_features=8, used=Constant(6))
    with seeded(6):
        datasets = wrapper.sample(4_000, 40)
    distinct = torch.tensor([[len(column.unique()) for column in each] for each in datasets.x[:1_000].mT])
    assert (distinct[:, 6:] == 1).all() and (datasets.x[..., 6:] == 0).all()
    number = (distinct[:, :6] < 40).sum(-1)
    expected = [beta.cdf((k + 0.5) / 6, 0.5, 0.8) - beta.cdf((k - 0.5) / 6, 0.5, 0.8) for k in range(7)]
    shares = number.bincount(minlength=7).double() / 1_000
    torch.testing.assert_close(shares, torch.tensor(expected), rtol=0, atol=0.05)


def test_without_a_share_nothing_changes():
    x, datasets = drawn(CategoricalFeatures(Binarized(LINES, num_reference=4), share=Constant(0.0)), seed=7)
    assert torch.equal(datasets.x, x)


def test_it_can_be_described():
    wrapper = CategoricalFeatures(LINES, share=Beta(2.0, 1.0), ordinal_share=0.25)
    assert build(describe(wrapper), PRIORS) == wrapper


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CategoricalFeatures(GaussianProcess()), "needs a prior with NormalInputs; got UniformInputs"),
        (lambda: CategoricalFeatures(LINES, share=Constant(2.0)), "share must lie between 0 and 1"),
        (lambda: CategoricalFeatures(LINES, nominal_cuts=Constant(0)), "nominal_cuts must lie between 1 and inf"),
        (lambda: CategoricalFeatures(LINES, ordinal_cuts=Constant(0)), "ordinal_cuts must lie between 1 and inf"),
        (lambda: CategoricalFeatures(LINES, ordinal_share=-0.5), "ordinal_share must lie between 0 and 1; got -0.5"),
        (lambda: CategoricalFeatures(PaddedFeatures(LINES, 4)), "Put it inside PaddedFeatures"),
    ],
)
def test_wrong_fields_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
