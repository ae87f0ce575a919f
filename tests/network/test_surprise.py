import pytest
import torch
from tiny_recipes import tiny_recipe
from torch.distributions import Categorical, Distribution, Normal

import priorfit as pf
from priorfit.baselines import ExactGP
from priorfit.data import Classes, Datasets
from priorfit.errors import InputError
from priorfit.metrics import pit
from priorfit.network.one_step_ahead import block_starts, expected_score, one_step_ahead, sequential_draws
from priorfit.network.summaries import FINDINGS, cramer_von_mises, extremeness, neighbour_correlation
from priorfit.network.surprise import judged, own_units, prior_of, ranked
from priorfit.priors.function import prior as prior_of_function
from priorfit.seeding import seeded
from priorfit.verify.calibration import kolmogorov_distance

GP = pf.GaussianProcess(lengthscale=0.6, noise=1e-4)
COINS = pf.BetaBernoulli()

pytestmark = pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")  # what surprise is for


def exactly(x: torch.Tensor, y: torch.Tensor, query_x: torch.Tensor) -> Distribution:
    return ExactGP(GP).condition(x, y).predict(query_x)


def coin(x: torch.Tensor, y: torch.Tensor, query_x: torch.Tensor) -> Distribution:
    heads = (1 + y.sum(1)) / (2 + y.shape[1])  # Laplace's rule: the exact answer to a uniform prior
    probs = torch.stack([1 - heads, heads], dim=-1)[:, None]
    return Categorical(probs.expand(*query_x.shape[:2], 2))


@pf.prior(num_features=1, inputs=pf.UniformInputs())
def slopes(x: torch.Tensor) -> torch.Tensor:
    return torch.randn(len(x), 1) * x[..., 0]


def surprised(model: pf.PFN, data: Datasets, **options: object) -> torch.Tensor:
    return model.condition(data.x, data.y).surprise(**options).p_value


@pytest.mark.parametrize(("ask", "prior"), [(exactly, GP), (coin, COINS)], ids=["reals", "classes"])
@pytest.mark.parametrize("num_points", [1, 9])
def test_p_values_are_uniform_on_the_prior(ask, prior, num_points):
    with seeded(0):
        data = prior.sample(80, num_points)
    pairs = zip(data.x, data.y, strict=True)
    found = [judged(ask, x, y, prior, (39, 0), torch.Tensor.clone).p_value for x, y in pairs]
    # values lie on 40 steps, which add up to 1/40; 1.63 is exceeded once in a hundred times
    assert kolmogorov_distance(torch.tensor(found)) < 1.63 / 80**0.5 + 1 / 40


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gp-rbf-1d", "gp-hyper-1d", "bnn-small", "tabular-regression-small"])
def test_p_values_of_released_models_are_uniform_on_their_priors(name):
    model = pf.load(name)
    with seeded(1):
        data = prior_of(model).sample(150, 30)
    found = surprised(model, data, draws=49)
    assert kolmogorov_distance(found) < 1.63 / 150**0.5 + 1 / 50
    assert 0.4 < float(found.mean()) < 0.6


@pytest.mark.slow
def test_p_values_by_the_networks_own_draws_are_uniform_where_the_network_is_right():
    with seeded(2):
        data = GP.sample(200, 8)
    pairs = zip(data.x, data.y, strict=True)
    found = [judged(exactly, x, y, None, (39, 0), torch.Tensor.clone).p_value for x, y in pairs]
    assert kolmogorov_distance(torch.tensor(found)) < 1.63 / 200**0.5 + 1 / 40


@pytest.mark.parametrize("factor", [100.0, 10.0, 0.1, 0.01])
def test_wrong_units_are_found_either_way(factor):
    with seeded(3):
        data = GP.sample(2, 16)
    found = pf.load("gp-rbf-1d").condition(data.x, factor * data.y).surprise()
    assert found.p_value.max() <= 0.05
    assert set(found.findings) == {"improbable" if factor > 1 else "too probable"}


def test_functions_that_are_too_smooth_are_found():
    with seeded(4):
        data = pf.GaussianProcess(lengthscale=1.8, noise=1e-4).sample(10, 20)
    pairs = zip(data.x, data.y, strict=True)
    found = [judged(exactly, x, y, GP, (199, 0), torch.Tensor.clone) for x, y in pairs]
    assert sum(each.p_value <= 0.1 for each in found) >= 5  # by chance it would be one
    assert sum(each.finding == "smooth" for each in found) >= 6


def test_a_batch_gets_what_each_dataset_gets_alone():
    model = pf.load("gp-rbf-1d")
    with seeded(5):
        data = GP.sample(4, 6)
    batch = model.condition(data.x.unflatten(0, (2, 2)), data.y.unflatten(0, (2, 2))).surprise(draws=49)
    alone = [float(model.condition(x, y).surprise(draws=49).p_value) for x, y in zip(data.x, data.y, strict=True)]
    assert batch.p_value.shape == (2, 2)
    assert batch.p_value.flatten().tolist() == alone
    assert all(values.shape == (2, 2) for values in batch.statistics.values())


def test_the_seed_decides_and_the_order_of_the_points_does_not():
    model = pf.load("gp-rbf-1d")
    with seeded(6):
        data = GP.sample(1, 9)
        shuffled = torch.randperm(9)
    posterior = model.condition(data.x[0], data.y[0])
    before = torch.get_rng_state()
    first, second, other = posterior.surprise(draws=49), posterior.surprise(draws=49), posterior.surprise(None, 49, 1)
    again = model.condition(data.x[0, shuffled], data.y[0, shuffled]).surprise(draws=49)
    assert torch.equal(before, torch.get_rng_state())
    assert first.p_value == second.p_value == again.p_value
    assert first.statistics == second.statistics == again.statistics
    assert first.statistics != other.statistics


def test_an_empty_context_is_refused_and_one_point_is_enough():
    model = pf.load("gp-rbf-1d")
    with pytest.raises(InputError, match=r"at least one point and one draw; got 0 point\(s\)"):
        model.condition(torch.zeros(0, 1), torch.zeros(0)).surprise()
    one = torch.full((1, 1), 0.5)
    with pytest.raises(InputError, match=r"got 1 point\(s\) and 0 draw\(s\)"):
        model.condition(one, torch.zeros(1)).surprise(draws=0)
    assert model.condition(one, torch.full((1,), 0.7)).surprise().p_value > 0.05
    assert model.condition(one, torch.full((1,), 60.0)).surprise().p_value <= 0.05


def test_the_result_says_whose_draws_they_were():
    model = pf.train(tiny_recipe(steps=2))
    with seeded(7):
        data = slopes.sample(1, 4)
    posterior = model.condition(data.x[0], data.y[0])
    assert posterior.surprise(draws=9).null == "prior"
    nameless = pf.train(tiny_recipe(steps=2, prior=slopes)).condition(data.x[0], data.y[0])
    assert nameless.surprise(draws=9).null == "network"
    assert "9 draws of the network at the same x" in str(nameless.surprise(draws=9))
    assert nameless.surprise(prior=slopes, draws=9).null == "prior"


def test_a_prior_that_does_not_fit_is_refused():
    posterior = pf.load("gp-rbf-1d").condition(torch.rand(3, 1), torch.randn(3))
    with pytest.raises(InputError, match="this model is for 1 feature"):
        posterior.surprise(prior=pf.GaussianProcess(num_features=2))
    with pytest.raises(InputError, match="this model is for 1 feature"):
        posterior.surprise(prior=COINS)


def test_a_prior_with_its_own_inputs_leaves_the_draws_to_the_network():
    strokes = pf.Strokes(num_ways=2, image_size=8)
    recipe = tiny_recipe(steps=1, prior=strokes)
    model = pf.train(recipe.__class__(prior=strokes, num_points=4, budget=recipe.budget))
    assert prior_of(model) is None
    data = strokes.sample(1, 3)
    posterior = model.condition(data.x[0], data.y[0])
    assert posterior.surprise(draws=5).null == "network"
    with pytest.raises(InputError, match="a Strokes draws its own inputs"):
        posterior.surprise(prior=strokes)


def test_free_units_do_not_matter():
    model = pf.load("tabular-regression-small")
    with seeded(8):
        y = torch.randn(5, 12)
    units = own_units(model)
    torch.testing.assert_close(units(1e3 * y + 3), units(y), atol=1e-4, rtol=0)
    assert units(torch.full((1, 4), 7.0)).tolist() == [[0.0] * 4]
    fixed = own_units(pf.load("gp-rbf-1d"))
    assert torch.equal(fixed(1e3 * y), 1e3 * y)


def test_free_units_still_show_an_outlier():
    model = pf.load("tabular-regression-small")
    with seeded(15):
        data = prior_of(model).sample(1, 40)
    y = data.y[0].clone()
    y[0] += 100 * y.std()
    assert model.condition(data.x[0], y).surprise(draws=39).p_value <= 0.05


def test_the_words_say_what_was_found_and_what_to_do():
    model = pf.load("gp-rbf-1d")
    x = torch.linspace(0, 1, 12)[:, None]
    bad = str(model.condition(x, 100 * torch.sin(3 * x[:, 0])).surprise())
    assert model.condition(x, 100 * torch.sin(3 * x[:, 0])).surprise().status == (
        "surprise: p = 0.005, the targets are less probable than usual for the prior"
    )
    assert bad.startswith(
        "p = 0.005: the targets are less probable than in 199 draws of the prior at the same x. Check"
    )
    with seeded(9):
        good = model.condition(x, GP.targets(x[None])[0]).surprise()
    assert float(good.p_value) > 0.05
    assert good.status == f"surprise: p = {float(good.p_value):.3g}"
    assert str(good).endswith("Nothing needs to be done.")
    both = model.condition(x.expand(2, 12, 1), 100 * torch.randn(2, 12)).surprise(draws=19)
    assert str(both).startswith("2 of 2 contexts have a p-value of at most 0.05")
    assert set(good.statistics) == set(FINDINGS)


def test_numbers_beyond_all_bounds_are_as_surprising_as_can_be():
    found = pf.load("gp-rbf-1d").condition(torch.rand(5, 1), torch.full((5,), 1e20)).surprise()
    assert float(found.p_value) == 0.005


def test_scores_are_those_of_each_point_given_the_blocks_before():
    with seeded(10):
        data = GP.sample(2, 11)
    scores = one_step_ahead(exactly, data.x, data.y)
    ends = [*block_starts(11), 11]
    assert ends == [0, 1, 2, 3, 4, 6, 8, 11]
    for point in range(11):
        start = max(begin for begin in ends if begin <= point)
        ppd = exactly(data.x[:, :start], data.y[:, :start], data.x[:, point : point + 1])
        came = data.y[:, point : point + 1]
        torch.testing.assert_close(scores.pit[:, point : point + 1], pit(ppd, came).double())
        torch.testing.assert_close(scores.log_density[:, point : point + 1], ppd.log_prob(came).double())
        torch.testing.assert_close(scores.expected[:, point : point + 1], -ppd.entropy().double())


def test_the_expected_score_of_a_mixture_is_minus_its_entropy():
    with seeded(11):
        parts = torch.randn(50, 4), torch.randn(50, 4), torch.randn(50, 4).exp()
    mixture = pf.distributions.NormalMixture(*parts)
    assert (expected_score(mixture) + mixture.entropy()).abs().mean() < 0.05
    one = pf.distributions.NormalMixture(torch.zeros(1), torch.zeros(1), torch.ones(1))
    torch.testing.assert_close(expected_score(one), -Normal(0.0, 1.0).entropy(), atol=1e-4, rtol=0)


def test_sequential_draws_have_the_covariance_of_the_prior():
    x = torch.tensor([[0.1], [0.4], [0.9]])
    with seeded(12):
        y = sequential_draws(exactly, x.expand(20_000, 3, 1))
    covariance = torch.exp(-((x - x.T) ** 2) / (2 * 0.6**2)) + 1e-4 * torch.eye(3)
    torch.testing.assert_close(y.T.cov(), covariance, atol=0.04, rtol=0)


def test_summaries_by_hand():
    pit_values = torch.tensor([[0.75, 0.25], [0.5, 0.5]], dtype=torch.float64)
    assert cramer_von_mises(pit_values).tolist() == pytest.approx([1 / 24, 1 / 24 + 0.125])
    x = torch.tensor([[0.0], [0.1], [1.0]])  # the third is nearest to the second
    normal = torch.tensor([[1.0, 2.0, -1.0]])
    assert neighbour_correlation(normal, x).tolist() == pytest.approx([(2 + 2 - 2) / 6])
    assert neighbour_correlation(normal[:, :1], x[:1]).tolist() == [0.0]


def test_what_is_far_off_outranks_what_is_merely_the_largest():
    far, largest = torch.arange(100.0), torch.arange(100.0)
    far[0], largest[1] = 1e9, 101.0
    assert ranked({"improbable": far, "outlier": largest}).p_value == 0.01
    endless = far.clone()
    endless[0] = torch.inf
    assert ranked({"improbable": endless, "outlier": largest}).p_value == 0.01
    assert extremeness(torch.zeros(5)).tolist() == [2.5] * 5


def test_ties_are_broken_at_random():
    with seeded(13):
        found = torch.tensor([ranked({"improbable": torch.zeros(20)}).p_value for _ in range(2_000)])
    assert kolmogorov_distance(found) < 1.63 / 2_000**0.5 + 1 / 20


def test_padded_features_draw_at_what_the_network_sees():
    line = prior_of_function(num_features=3, inputs=pf.NormalInputs())(lambda x: x.sum(-1))
    padded = pf.PaddedFeatures(line, max_features=3)
    with seeded(14):
        drawn = padded.sample(50, 4)
    torch.testing.assert_close(padded.targets(drawn.x), drawn.y)
    assert padded.outcome != Classes(2)
