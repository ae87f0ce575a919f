import pytest
import torch

from priorfit.errors import InputError
from priorfit.priors import LogNormalDraws, NormalInputs, Objectives, UniformInputs
from priorfit.seeding import seeded


def test_contexts_are_in_their_own_units_and_queries_have_no_noise():
    noisy = Objectives(num_features=2, lengthscale=LogNormalDraws(3.0, 0.0), noise=LogNormalDraws(3.0, 0.0))
    with seeded(0):
        batch = noisy.sample_split(200, 50, 40)
    torch.testing.assert_close(batch.context_y.mean(1), torch.zeros(200), atol=1e-5, rtol=0)
    torch.testing.assert_close(batch.context_y.std(1), torch.ones(200), atol=1e-5, rtol=0)
    assert float(batch.query_y.std(1).mean()) < 0.2  # nearly constant functions below noise of three deviations
    with seeded(0):
        drawn = noisy.sample(200, 40)
    assert float(drawn.y.std(1).mean()) > 2  # evaluations themselves are noisy


def test_the_units_of_few_points_are_a_shift_alone():
    with seeded(1):
        single, none = (Objectives().sample_split(5, n, 4) for n in (1, 0))
    assert single.context_y.abs().max() == 0 and none.context_y.shape == (5, 0) and none.query_y.shape == (5, 4)


def test_datasets_have_between_one_and_all_columns_and_zeros_beside_them():
    with seeded(2):
        x = Objectives(num_features=4, min_features=2).sample(300, 9).x
    used = (x != 0).any(1).sum(-1)
    assert used.unique().tolist() == [2, 3, 4]
    assert bool(((x != 0).any(1) == (torch.arange(4) < used[:, None])).all())


def test_without_warping_functions_are_standard_normal_and_with_it_they_are_skewed():
    plain = Objectives(num_features=1, input_warping=0.0, output_warping=0.0, noise=LogNormalDraws(1e-4, 0.0))
    with seeded(3):
        y = plain.sample(4000, 1).y[:, 0]
        bent = Objectives(num_features=1, output_warping=1.0, noise=LogNormalDraws(1e-4, 0.0)).sample(4000, 1).y[:, 0]
    assert float(y.std()) == pytest.approx(1.0, abs=0.05)
    assert float(bent.pow(4).mean() / bent.square().mean().square()) > 6 > float(y.pow(4).mean())


def test_the_noise_is_in_units_of_the_warped_function():
    prior = Objectives(num_features=1, output_warping=1.0, noise=LogNormalDraws(0.1, 0.0))
    with seeded(4):
        _, noise = prior.functions(torch.rand(5000, 1, 1), torch.ones(5000, 1).long())
        _, deviation = prior._warped_outputs(torch.zeros(5, 1).double())
    assert noise.shape == (5000, 1) and float(noise.min()) >= 0.1  # (exp(c f) - 1) / c spreads more than f
    assert bool((deviation >= 1).all())


def test_targets_at_given_inputs_use_the_columns_that_are_not_zero():
    prior = Objectives(num_features=3, noise=LogNormalDraws(1e-4, 0.0), irrelevant=0.0)
    x = torch.rand(400, 2, 3)
    x[:, 1, :2] = x[:, 0, :2]  # the points of a dataset differ in the last column alone
    with seeded(5):
        full, padded = prior.targets(x), prior.targets(x * torch.tensor([1.0, 1.0, 0.0]))
    assert bool((full.diff(dim=1).abs() > 1e-2).double().mean() > 0.8)
    assert float(padded.diff(dim=1).abs().max()) < 0.02  # noise alone


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="Objectives need 1 <= min_features <= num_features"):
        Objectives(num_features=2, min_features=3)
    with pytest.raises(InputError, match="kernel must be one of rbf"):
        Objectives(kernel="cubic")
    with pytest.raises(InputError, match="Objectives warp inputs between 0 and 1"):
        Objectives(inputs=NormalInputs())
    with pytest.raises(InputError, match="Objectives warp inputs between 0 and 1"):
        Objectives(inputs=UniformInputs(-1.0, 1.0))
    with pytest.raises(InputError, match="irrelevant must be a share below 1"):
        Objectives(irrelevant=1.0)
    with pytest.raises(InputError, match="needs a positive median"):
        LogNormalDraws(0.0, 1.0)
