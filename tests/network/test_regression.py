import pytest
import torch

import priorfit as pf
from priorfit.data import Real
from priorfit.errors import InputError
from priorfit.network import PFN, NetworkSettings, NormalHead, Problem, Regression
from priorfit.network.embedding import FourierEncoder
from priorfit.network.regression import RealRegression
from priorfit.seeding import seeded


def layer(heads: int = 2, features: int = 6) -> RealRegression:
    with seeded(0):
        settings = Regression(features, heads, hidden=16)
        return RealRegression(settings, FourierEncoder(8).build(1, 16, (0.0, 1.0)), width=12)


def network_of(settings: NetworkSettings) -> PFN:
    with seeded(0):
        return PFN(settings, Problem(1, Real(), (0.0, 1.0)), target_sample=torch.randn(4, 50))


def test_the_guess_of_one_head_is_its_predictive():
    regression = layer(heads=1)
    x, y, query = torch.rand(3, 5, 1), torch.randn(3, 5), torch.rand(3, 4, 1)
    solution, _ = regression.remember(x, y)
    guess, _ = regression.answer(query, solution)
    noise = regression.log_noise.exp()
    phi, phi_query = regression.phi(x)[:, 0], regression.phi(query)[:, 0]
    covariance = noise**2 * (phi @ phi.mT + torch.eye(5))
    gain = noise**2 * phi_query @ phi.mT @ torch.linalg.inv(covariance)
    mean = (gain @ y.double()[..., None])[..., 0]
    prior = noise**2 * (phi_query.square().sum(-1) + 1)
    variance = prior - noise**2 * (gain * (phi_query @ phi.mT)).sum(-1)
    torch.testing.assert_close(guess[..., 0], mean.float())
    torch.testing.assert_close(guess[..., 1], 0.5 * variance.log().float())


def test_heads_are_weighted_by_their_evidence():
    regression = layer(heads=3)
    x, y, query = torch.rand(4, 6, 1), torch.randn(4, 6), torch.rand(4, 5, 1)
    solution, _ = regression.remember(x, y)
    phi, noise = regression.phi(x), regression.log_noise.exp()[..., None]
    covariance = noise**2 * (phi @ phi.mT + torch.eye(6))  # (batch, heads, 6, 6)
    law = torch.distributions.MultivariateNormal(torch.zeros(6, dtype=torch.float64), covariance)
    weights = law.log_prob(y.double()[:, None]).softmax(1)
    mean = (weights[..., None] * noise[..., 0] * solution.mean(regression.phi(query))).sum(1)
    torch.testing.assert_close(regression.answer(query, solution)[0][..., 0], mean.float())


def test_a_point_of_the_context_is_told_what_the_others_say_of_it():
    regression = layer()
    x, y = torch.rand(1, 6, 1), torch.randn(1, 6)
    changed = y.clone()
    changed[0, 2] += 0.5
    with torch.no_grad():
        regression.told.weight[:, : 3 * regression.heads] = 0  # the heads' weights do see the point itself
        regression.told.weight[:, -1] = 0  # and so does its residual
        regression.slow_log_noise.fill_(regression.slow_log_noise[0])
        regression.features.weight[6:] = regression.features.weight[:6]  # equal heads: their weights stay equal
        regression.slow_log_gain.fill_(0.1)
    told, told_after = (regression.tell(*regression.remember(x, each), each) for each in (y, changed))
    torch.testing.assert_close(told[:, 2], told_after[:, 2])
    assert not torch.allclose(told[:, 3], told_after[:, 3], atol=1e-4)


def test_a_network_with_a_regression_soon_beats_one_without():
    gp = pf.GaussianProcess(lengthscale=0.3)
    tasks = gp.sample(200, 16).split(15)
    gaps = []
    for regression in (None, Regression(24, 1, 32)):
        network = NetworkSettings(width=16, layers=1, heads=2, feedforward=16, regression=regression)
        model = pf.fit(gp, num_points=20, steps=60, seed=0, targets="expected", network=network, progress=False)
        gaps.append(pf.metrics.gap(model, pf.baselines.ExactGP(gp), tasks).mean)
    assert gaps[1] < gaps[0] / 2


def test_features_can_be_linear_in_the_encoded_inputs():
    settings = NetworkSettings(width=16, layers=1, heads=2, feedforward=16, regression=Regression(3, 2, hidden=0))
    model = PFN(settings, Problem(1, Real(), (0.0, 1.0)))
    assert isinstance(model.regression, RealRegression)
    assert model.regression.phi(torch.rand(4, 5, 1)).shape == (4, 2, 5, 3)
    assert model.condition(torch.rand(4, 5, 1), torch.randn(4, 5)).predict(torch.rand(4, 2, 1)).batch_shape == (4, 2)


def test_impossible_settings_are_refused():
    with pytest.raises(InputError, match="hidden and evidence at least 0; got Regression"):
        Regression(features=0)
    with pytest.raises(InputError, match="hidden and evidence at least 0; got Regression"):
        Regression(hidden=-1)
    with pytest.raises(InputError, match="hidden and evidence at least 0; got Regression"):
        Regression(evidence=-1.0)


def test_a_saved_network_with_a_regression_comes_back(tmp_path):
    settings = NetworkSettings(width=16, layers=1, heads=2, head=NormalHead(), regression=Regression(8, 2, 16))
    model = PFN(settings, Problem(1, Real(), (0.0, 1.0))).finished()
    model.save(tmp_path / "model")
    x, y, query = torch.rand(2, 5, 1), torch.randn(2, 5), torch.rand(2, 3, 1)
    before, after = (each.condition(x, y).predict(query) for each in (model, pf.load(tmp_path / "model")))
    assert torch.equal(before.mean, after.mean) and torch.equal(before.stddev, after.stddev)


def test_the_evidence_is_part_of_the_loss_where_the_settings_ask_for_it():
    prior = pf.GaussianProcess()
    with seeded(0):
        batch = prior.sample(3, 9).split(6)
    plain, weighted = (
        network_of(NetworkSettings(width=16, layers=1, heads=2, regression=Regression(6, 2, 16, evidence)))
        for evidence in (0.0, 0.5)
    )
    assert plain.regression is not None
    units = plain.scaling(batch.context_y)
    solution, _ = plain.regression.remember(batch.context_x, units.to_model(batch.context_y))
    evidence = solution.log_evidence.exp().mean(1).log()  # of a mixture of two heads
    difference = weighted.loss(batch) - plain.loss(batch)
    torch.testing.assert_close(difference, (-0.5 * evidence / 6).float()[:, None].expand(3, 3))


def test_an_empty_context_has_no_evidence_to_add():
    with seeded(0):
        batch = pf.GaussianProcess().sample(3, 4).split(0)
    losses = [
        network_of(NetworkSettings(width=16, layers=1, heads=2, regression=Regression(6, 2, 16, evidence))).loss(batch)
        for evidence in (0.0, 1.0)
    ]
    torch.testing.assert_close(*losses)


def test_a_network_without_layers_needs_a_regression():
    with pytest.raises(InputError, match="reads its context by a regression alone"):
        NetworkSettings(layers=0)
    with pytest.raises(InputError, match="layers at least 0; got"):
        NetworkSettings(layers=-1)
