import pytest
import torch
from scipy.stats import norm
from torch.distributions import Categorical, Normal

from priorfit.description import build, describe
from priorfit.errors import InputError
from priorfit.priors import (
    PRIORS,
    Beta,
    BetaBernoulli,
    Binarized,
    Constant,
    GaussianProcess,
    LinearRegression,
    Mixture,
    PaddedFeatures,
    ScaledBeta,
    Standardized,
    UniformInputs,
    WeightedFeatures,
)
from priorfit.priors.conditionals import BinarizedConditional, point_mass
from priorfit.priors.function import prior
from priorfit.seeding import seeded

GP = GaussianProcess(num_features=2, lengthscale=0.4, noise=0.01, outputscale=4.0)


def both(wrapper, seed, num_points=6):
    """The same draw of the inner prior, extra points included, and of the wrapper."""
    with seeded(seed):
        x = torch.rand(5, wrapper.num_extra + num_points, 2, dtype=torch.float64)
        inner = wrapper.prior.draw(x)
    with seeded(seed):
        torch.rand_like(x)
        return inner, wrapper.draw(x)


def test_standardized_targets_are_the_inner_ones_by_the_statistics_of_the_extra_points():
    wrapper = Standardized(GP, num_reference=9)
    inner, outer = both(wrapper, 0)
    reference, y = inner.y[:, :9], inner.y[:, 9:]
    expected = (y - reference.mean(1, keepdim=True)) / reference.std(1, keepdim=True)
    torch.testing.assert_close(outer.y, expected)
    assert torch.equal(outer.x, inner.x[:, 9:])


@pytest.mark.parametrize("num_context", [0, 2, 5])
def test_the_standardized_conditional_is_the_inner_one_mapped(num_context):
    inner, outer = both(Standardized(GP, num_reference=9), 1)
    law, mapped = inner.conditional(9 + num_context), outer.conditional(num_context)
    y = torch.linspace(-3, 3, 5 * (6 - num_context), dtype=torch.float64).reshape(5, -1)
    shift, scale = inner.y[:, :9].mean(1, keepdim=True), inner.y[:, :9].std(1, keepdim=True)
    torch.testing.assert_close(mapped.log_prob(y), law.log_prob(y * scale + shift) + scale.log())


def test_a_constant_function_is_only_shifted():
    flat = prior(num_features=1)(lambda x: torch.full(x.shape[:2], 3.0))
    assert (Standardized(flat).sample(2, 4).y == 0).all()


def test_no_statistic_sees_the_queries():
    with seeded(5):
        y = Standardized(GP, num_reference=4).sample(100, 5).y
        labels = Binarized(GP, num_reference=4).sample(200, 4).y
    assert (y.mean(1).abs() > 1e-3).all()
    assert set(labels.sum(1).tolist()) == {0, 1, 2, 3, 4}


def test_the_median_of_the_dataset_leaks_the_last_label():
    labels = Binarized(GP, threshold="dataset_median").sample(50, 6)
    assert (labels.y.sum(1) == 3).all()
    assert labels.conditional is None


def test_labels_say_whether_the_inner_target_exceeds_the_median_of_the_extra_points():
    inner, outer = both(Binarized(GP, num_reference=9), 2)
    median = inner.y[:, :9].sort(1).values[:, 4:5]
    assert torch.equal(outer.y, (inner.y[:, 9:] > median).double())


@pytest.mark.parametrize("num_context", [0, 2, 5])
def test_the_binarized_conditional_is_the_inner_tail_probability(num_context):
    inner, outer = both(Binarized(GP, num_reference=9), 3)
    law = inner.conditional(9 + num_context)
    median = inner.y[:, :9].sort(1).values[:, 4:5]
    expected = torch.from_numpy(norm.sf(median, loc=law.mean, scale=law.stddev))
    torch.testing.assert_close(outer.conditional(num_context).probs[..., 1], expected, rtol=0, atol=1e-12)


def test_a_point_mass_becomes_a_certain_label():
    y = torch.tensor([[1.0, 2.0, 3.0]])

    def inner(num_context):
        assert num_context == 7
        law = point_mass(y, GP.outcome)
        assert isinstance(law, Normal)
        return law

    probs = BinarizedConditional(inner, 7, torch.tensor([[2.0]]))(0).probs
    assert torch.equal(probs, torch.tensor([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]]))


def test_padded_features_are_zeroed_for_the_function_and_rescaled_for_the_network():
    seen = []

    @prior(num_features=4)
    def sums(x):
        seen.append(x)
        return x.sum(-1)

    with seeded(4):
        datasets = PaddedFeatures(sums, max_features=4, min_features=2).sample(batch_size=3_000, num_points=3)
    used = (seen[0] != 0).any(1).sum(-1)  # (batch)
    assert torch.equal((seen[0] != 0)[:, 0], torch.arange(4) < used[:, None])
    torch.testing.assert_close(datasets.x, seen[0] * (4 / used)[:, None, None])
    torch.testing.assert_close(datasets.y, seen[0].sum(-1))
    shares = used.bincount(minlength=5)[2:].double() / 3_000
    torch.testing.assert_close(shares, torch.full((3,), 1 / 3, dtype=torch.float64), rtol=0, atol=0.03)


def test_the_number_of_features_in_use_is_that_of_its_sampler():
    with seeded(4):
        datasets = PaddedFeatures(GP, max_features=4, used=ScaledBeta(1.0, 1.0, maximum=3, minimum=2)).sample(2_000, 3)
    shares = (datasets.x != 0).any(1).sum(-1).bincount(minlength=5).double() / 2_000
    expected = torch.tensor([0.0, 0.0, 0.5, 0.5, 0.0], dtype=torch.float64)
    torch.testing.assert_close(shares, expected, rtol=0, atol=0.04)


def test_features_rescaled_for_both_are_what_function_and_network_see():
    seen = []

    @prior(num_features=4)
    def sums(x):
        seen.append(x)
        return x.sum(-1)

    wrapper = PaddedFeatures(Binarized(sums, num_reference=4), max_features=4, used=Constant(2), rescaled="for_both")
    with seeded(6):
        datasets = wrapper.sample(5, 3)
    assert torch.equal(datasets.x, seen[0][:, 4:])
    assert 1 < float(datasets.x.max()) <= 2 and (seen[0][..., 2:] == 0).all()
    with seeded(6):
        wrapper.targets(datasets.x)
    assert torch.equal(seen[1][:, 4:], datasets.x)
    assert float(seen[1][:, :4].max()) > 1 and (seen[1][..., 2:] == 0).all()


def test_extra_points_use_the_same_features_as_their_dataset():
    seen = []

    @prior(num_features=5)
    def sums(x):
        seen.append(x)
        return x.sum(-1)

    tabular = PaddedFeatures(Binarized(sums, num_reference=8), max_features=5)
    with seeded(5):
        datasets = tabular.sample(batch_size=20, num_points=3)
    assert seen[0].shape == (20, 11, 5)
    assert datasets.x.shape == (20, 3, 5)
    used = (seen[0] != 0).sum(-1)  # (batch, points)
    assert torch.equal(used, used[:, :1].expand(-1, 11))


def test_wrappers_within_wrappers_ask_for_all_their_extra_points():
    wrapper = Binarized(Standardized(GP, num_reference=10), num_reference=20)
    assert wrapper.num_extra == 30
    assert wrapper.sample(2, 5).y.shape == (2, 5)
    assert wrapper.targets(torch.rand(2, 5, 2)).shape == (2, 5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Binarized(BetaBernoulli()), r"Binarized needs a prior over Real\(\); got one over Classes"),
        (lambda: Standardized(BetaBernoulli()), r"Standardized needs a prior over Real\(\)"),
        (lambda: Binarized(GP, threshold="median"), "threshold must be one of reference_median, dataset_median"),
        (lambda: Binarized(GP, num_reference=1), "num_reference must be at least 2, .* got 1"),
        (lambda: PaddedFeatures(GP, 3, min_features=4), "min_features=4, max_features=3"),
        (lambda: PaddedFeatures(GP, 3, min_features=0), "min_features=0, max_features=3"),
        (lambda: PaddedFeatures(GP, 3, used=Constant(4)), "used must lie between 1 and 3; got Constant"),
    ],
)
def test_wrong_fields_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_wrapped_mixture_of_own_inputs_is_the_mixture_of_wrapped_priors():
    priors = [LinearRegression(num_features=2), GaussianProcess(num_features=1, inputs=UniformInputs(2.0, 3.0))]
    outside = PaddedFeatures(Binarized(Mixture(priors, weights=[0.3, 0.7])), max_features=4)
    inside = Mixture([PaddedFeatures(Binarized(prior), max_features=4) for prior in priors], weights=[0.3, 0.7])
    for name in ("num_features", "inputs", "outcome", "num_extra", "offers_expected"):
        assert getattr(outside, name) == getattr(inside, name), name
    with seeded(0):
        ours = outside.sample(16, 12)
    with seeded(0):
        theirs = inside.sample(16, 12)
    assert torch.equal(ours.x, theirs.x) and torch.equal(ours.y, theirs.y)
    ours, theirs = (datasets.split(5).query_law for datasets in (ours, theirs))
    assert isinstance(ours, Categorical) and isinstance(theirs, Categorical)
    assert torch.equal(ours.probs, theirs.probs)
    assert build(describe(outside), PRIORS) == outside


def test_a_weight_of_zero_hides_a_feature_from_the_function_but_not_from_the_network():
    with seeded(0):
        datasets = WeightedFeatures(GaussianProcess(num_features=2, noise=0.0), weights=Constant(0.0)).sample(5, 10)
    assert torch.allclose(datasets.y, datasets.y[:, :1].expand(5, 10), atol=1e-3)
    assert datasets.x.std(1).min() > 0.1


def test_weights_of_features_are_drawn_for_each_dataset_and_feature():
    line = LinearRegression(num_features=2, noise=1e-12)
    with seeded(0):
        datasets = WeightedFeatures(line, weights=Beta(1.0, 1.0)).sample(4_000, 6)
    slopes = torch.linalg.lstsq(datasets.x.double(), datasets.y.double()[..., None]).solution[..., 0]
    assert torch.allclose(slopes.square().mean(0), torch.tensor([1 / 3, 1 / 3]).double(), atol=0.03)  # E[w^2] E[b^2]
    shares = torch.corrcoef(slopes.abs().T)
    assert abs(float(shares[0, 1])) < 0.06


def test_weights_of_features_may_not_be_negative():
    with pytest.raises(InputError, match="must be at least 0"):
        WeightedFeatures(GP, weights=Constant(-1.0))
