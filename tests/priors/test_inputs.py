import pytest
import torch
from scipy.stats import kstest

from priorfit.errors import InputError
from priorfit.priors.inputs import ClusteredInputs, MixtureInputs, NormalInputs, RescaledInputs, UniformInputs
from priorfit.seeding import seeded


def test_uniform_inputs_are_uniform_on_their_range():
    with seeded(0):
        x = UniformInputs(-1.0, 3.0).sample(100, 10, 2)
    assert kstest(x.flatten().numpy(), "uniform", args=(-1, 4)).pvalue > 0.01
    assert UniformInputs(-1.0, 3.0).range == (-1.0, 3.0)


def test_normal_inputs_are_normal_and_have_no_range():
    with seeded(0):
        x = NormalInputs(2.0, 0.5).sample(100, 10, 2)
    assert kstest(x.flatten().numpy(), "norm", args=(2, 0.5)).pvalue > 0.01
    assert NormalInputs().range is None


def test_clustered_inputs_lie_in_few_short_intervals_of_their_range():
    inputs = ClusteredInputs(-1.0, 3.0, most=2, width=0.05)
    with seeded(0):
        x = inputs.sample(2_000, 6, 1)[..., 0]
    gaps = x.sort(-1).values.diff(dim=-1)
    assert inputs.range == (-1.0, 3.0)
    assert x.min() >= -1.0
    assert x.max() <= 3.0
    assert ((gaps > 0.2).sum(-1) <= 1).all(), "one wide gap at most, between two clusters of width 4 * 0.05"
    together = (gaps.sum(-1) <= 0.2).double().mean()
    assert 0.5 < together < 0.65, "half of the datasets have one cluster, and two clusters seldom coincide"


@pytest.mark.parametrize("wrong", [{"low": 1.0}, {"most": 0}, {"width": 0.0}, {"width": 1.5}])
def test_clusters_have_a_place_and_a_width(wrong: dict[str, float]):
    with pytest.raises(InputError, match="ClusteredInputs needs"):
        ClusteredInputs(**wrong)  # pyright: ignore[reportArgumentType]


def test_each_dataset_of_mixed_inputs_has_one_distribution():
    mixed = MixtureInputs([UniformInputs(0.0, 1.0), UniformInputs(5.0, 6.0)], weights=[1, 3])
    with seeded(0):
        x = mixed.sample(4_000, 3, 2)
    high = (x > 3).flatten(1)
    assert torch.equal(high.all(1), high.any(1))
    assert abs(float(high[:, 0].double().mean()) - 0.75) < 0.03
    assert mixed.range == (0.0, 6.0)
    assert MixtureInputs([UniformInputs(), NormalInputs()]).range is None


def test_rescaled_inputs_have_the_range_of_all_that_they_may_become():
    assert RescaledInputs(UniformInputs(-1.0, 2.0), 3.0).range == (-3.0, 6.0)
    assert RescaledInputs(UniformInputs(1.0, 2.0), 3.0).range == (0.0, 6.0)
    assert RescaledInputs(NormalInputs(), 3.0).range is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformInputs(1.0, 1.0), "low < high; got low=1.0, high=1.0"),
        (lambda: UniformInputs(0.0, float("inf")), "high of a UniformInputs must be finite"),
        (lambda: NormalInputs(scale=0.0), "scale > 0; got 0.0 and 0.0"),
        (lambda: MixtureInputs([]), "at least one part"),
        (lambda: MixtureInputs([UniformInputs()], weights=[0.5, 0.5]), "one weight for each of its 1 parts; got 2"),
        (lambda: MixtureInputs([UniformInputs()], weights=[-1.0]), "weights must be finite, at least 0"),
        (lambda: MixtureInputs([UniformInputs()], weights=[0.0]), "not all 0"),
    ],
)
def test_wrong_fields_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
