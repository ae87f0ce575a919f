import pickle
from collections.abc import Callable

import pytest
import torch
from torch.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Gamma,
    HalfNormal,
    Independent,
    LogNormal,
    MixtureSameFamily,
    MultivariateNormal,
    Normal,
    OneHotCategorical,
    Poisson,
    StudentT,
    Uniform,
)

from priorfit.data import Classes, Real
from priorfit.description import build, describe
from priorfit.errors import InputError, PriorError, RecipeError
from priorfit.priors import PRIORS, FunctionPrior, ProgramPrior
from priorfit.priors.checks import check_prior
from priorfit.priors.function import prior
from priorfit.priors.inputs import NormalInputs
from priorfit.seeding import seeded


@prior(num_features=1, frequency=Uniform(2.0, 10.0), decay=Uniform(0.0, 3.0))
def waves(x, frequency, decay):
    """Waves that fade."""
    return Normal(torch.sin(frequency * x[..., 0]) * torch.exp(-decay * x[..., 0]), 0.05)


def group_effects(scale):
    return Normal(0.0, scale.expand(-1, 4))


@prior(num_features=1, scale=HalfNormal(1.0), effect=group_effects, kind=Categorical(torch.tensor([0.2, 0.8])))
def groups(x, scale, effect, kind):
    """Four groups along x; one of two noises."""
    group = (4 * x[..., 0]).long().clamp(0, 3)
    return StudentT(3.0, effect.gather(1, group), torch.where(kind == 0, 0.1, 0.5))


@prior(num_features=1, rate=Gamma(2.0, 1.0), flip=Bernoulli(0.3))
def simulator(x, rate, flip):
    """Draws without a law."""
    y = rate * x[..., 0] * (1 - 2 * flip)
    return y + 0.1 * torch.randn_like(y)


def line(x, slope):
    return Normal(slope * x[..., 0], 0.1)


def made(function: Callable = line, **latents):
    return prior(num_features=1, **(latents or {"slope": Normal(0.0, 1.0)}))(function)


def test_a_program_draws_latents_and_then_from_the_law():
    with seeded(3):
        datasets = waves.sample(batch_size=5, num_points=7)
    with seeded(3):
        x = waves.inputs.sample(5, 7, 1)
        frequency, decay = Uniform(2.0, 10.0).sample((5, 1)), Uniform(0.0, 3.0).sample((5, 1))
        y = waves(x, frequency=frequency, decay=decay).sample()
    assert torch.equal(datasets.y, y) and torch.equal(datasets.x, x)
    assert torch.equal(datasets.latents["frequency"], frequency) and torch.equal(datasets.latents["decay"], decay)


def test_latents_stay_with_the_split_datasets_and_the_law_is_that_of_the_queries():
    datasets = waves.sample(batch_size=4, num_points=6)
    tasks = datasets.split(2)
    assert tasks.latents == datasets.latents and waves.offers_expected
    assert isinstance(tasks.query_law, Normal) and tasks.query_law.batch_shape == (4, 4)
    expected = waves(datasets.x[:, 2:], **datasets.latents)
    assert torch.equal(tasks.query_law.loc, expected.loc)
    assert tasks.to(torch.device("cpu")).latents["decay"].shape == (4, 1)


def test_a_hierarchy_draws_children_from_their_parents():
    with seeded(0):
        drawn = groups.sample_latents(20_000)
    assert {name: tuple(value.shape[1:]) for name, value in drawn.items()} == {
        "scale": (1,),
        "effect": (4,),
        "kind": (1,),
    }
    standard = drawn["effect"] / drawn["scale"]
    assert abs(float(standard.std()) - 1) < 0.02 and drawn["kind"].dtype == torch.int64
    assert float(drawn["effect"].square().mean()) == pytest.approx(1.0, abs=0.05)  # E scale^2 = 1


def test_the_log_probability_of_latents_is_that_of_their_distributions():
    with seeded(0):
        drawn = groups.sample_latents(6)
    by_hand = HalfNormal(1.0).log_prob(drawn["scale"])[:, 0] + Normal(0.0, drawn["scale"]).log_prob(
        drawn["effect"]
    ).sum(1)
    by_hand = by_hand + torch.where(drawn["kind"][:, 0] == 0, 0.2, 0.8).log()
    torch.testing.assert_close(groups.latent_log_prob(drawn), by_hand.double(), rtol=1e-5, atol=1e-5)
    outside = waves.sample_latents(6)
    assert waves.latent_log_prob(outside | {"decay": -outside["decay"]}).tolist() == [-torch.inf] * 6


def test_the_log_likelihood_is_the_sum_over_points_and_minus_infinity_outside_of_the_support():
    positive = made(lambda x, slope: LogNormal(slope * x[..., 0], 0.1))
    data = positive.sample(3, 5)
    by_hand = LogNormal(data.latents["slope"] * data.x[..., 0], 0.1).log_prob(data.y).sum(-1)
    torch.testing.assert_close(positive.log_likelihood(data.x, data.y, data.latents), by_hand.double())
    assert positive.log_likelihood(data.x, -data.y, data.latents).tolist() == [-torch.inf] * 3


def two_peaks(x, slope):
    loc = torch.stack([slope * x[..., 0], -slope * x[..., 0]], dim=-1)
    return MixtureSameFamily(Categorical(torch.ones_like(loc)), Normal(loc, 0.1))


@pytest.mark.parametrize(
    ("function", "outcome", "offers_expected"),
    [
        (line, Real(), True),
        (lambda x, slope: StudentT(3.0, slope * x[..., 0], 0.1), Real(), False),
        (lambda x, slope: LogNormal(slope * x[..., 0], 0.1), Real(), False),
        (lambda x, slope: Beta(slope.exp(), 1.0), Real(), False),  # the same at all points
        (two_peaks, Real(), False),
        (lambda x, slope: Bernoulli(logits=slope * x[..., 0]), Classes(2), True),
        (lambda x, slope: Categorical(logits=torch.stack([slope * x[..., 0]] * 3, -1)), Classes(3), True),
        (lambda x, slope: slope * x[..., 0] + torch.randn(x.shape[:2]), Real(), False),
    ],
)
def test_the_outcome_follows_from_the_law(function, outcome, offers_expected):
    found = made(function)
    assert (found.outcome, found.offers_expected) == (outcome, offers_expected)
    tasks = found.sample(3, 5).split(2)
    assert tasks.query_y.shape == (3, 3) and (tasks.query_law is not None) == offers_expected


def test_expected_targets_of_a_bernoulli_are_its_probabilities():
    coin = made(lambda x, slope: Bernoulli(logits=slope * x[..., 0]))
    tasks = coin.sample(4, 6).split(1)
    expected = (tasks.latents["slope"] * tasks.query_x[..., 0]).sigmoid()
    assert isinstance(tasks.query_law, Categorical)
    torch.testing.assert_close(tasks.query_law.probs[..., 1], expected)


def test_decorating_draws_nothing_from_the_global_generators():
    with seeded(0):
        expected = torch.rand(1)
    with seeded(0):
        made()
        assert torch.equal(torch.rand(1), expected)


def test_a_simulator_without_a_law_says_what_it_lacks():
    assert not simulator.has_law and simulator.outcome == Real()
    drawn = simulator.sample(4, 5)
    assert set(drawn.latents) == {"rate", "flip"}
    with pytest.raises(InputError, match="prior simulator returns draws, so the likelihood .* return a distribution"):
        simulator.log_likelihood(drawn.x, drawn.y, drawn.latents)


def test_without_latents_the_old_form_stays():
    assert isinstance(prior(num_features=1)(lambda x: torch.randn(x.shape[:2])), FunctionPrior)


def test_priors_pickle_by_their_name():
    for each in (waves, groups, simulator):
        assert pickle.loads(pickle.dumps(each)) is each  # noqa: S301  our own
    unnamed = made(line)  # its function is found by name, though it is not
    again = pickle.loads(pickle.dumps(unnamed))  # noqa: S301
    assert isinstance(again, ProgramPrior) and again.function is line and again.latents[0].name == "slope"


def test_a_description_holds_names_and_distributions_but_no_code():
    described = describe(waves)
    assert described["latents"][0] == {
        "type": "Latent",
        "name": "frequency",
        "size": 1,
        "text": "Uniform(low 2; high 10)",
        "parents": [],
    }
    assert "function" not in described
    with pytest.raises(RecipeError, match=r"does not hold its function. Pass the object itself \(waves\)"):
        build(described, PRIORS)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("latents", "message"),
    [
        ({"x": Normal(0.0, 1.0)}, "no latent can be called 'x'"),
        ({"context_y": Normal(0.0, 1.0)}, "no latent can be called 'context_y'"),
        ({"_slope": Normal(0.0, 1.0)}, "no latent can be called '_slope'"),
        ({"slope": 1.0}, r"'slope' must be a distribution, such as Normal\(0.0, 1.0\).* got 1.0"),
        ({"slope": Normal}, "got the class Normal"),
        ({"input": NormalInputs()}, "Did you mean the argument 'inputs'"),
        ({"slope": Poisson(3.0)}, "must be real, Categorical or Bernoulli; got Poisson"),
        ({"slope": MultivariateNormal(torch.zeros(2), torch.eye(2))}, r"single numbers; got .* shape \(2,\)"),
        ({"slope": Independent(Normal(torch.zeros(2), 1.0), 1)}, r"\.expand\(\[10\]\)"),
        ({"slope": Normal(torch.zeros(2, 3), 1.0)}, r"batch shape \(\) or .* got \(2, 3\)"),
        ({"slope": lambda scale: Normal(0.0, scale)}, "a function of 'scale', which is no latent named before it"),
        ({"scale": HalfNormal(1.0), "slope": lambda scale: Normal(0.0, scale[:, 0])}, r"got \(5,\)"),
        ({"scale": HalfNormal(1.0), "slope": lambda scale: scale}, "must be a distribution of torch.distributions"),
        ({"name": Normal(0.0, 1.0)}, "name is an argument of @prior, so no latent can have its name"),
        ({"outcome": Normal(0.0, 1.0)}, "outcome is an argument of @prior"),
        ({"other": Normal(0.0, 1.0)}, r"takes x and its latents by name, \(x, other\); got .* with \(x, slope\)"),
    ],
)
def test_latents_that_are_none_are_refused(latents, message):
    with pytest.raises(InputError, match=message):
        prior(**{"num_features": 1, **latents})(line)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda x, slope: Poisson((slope * x[..., 0]).exp()),
            "a law of counts, and there is no outcome for counts yet",
        ),
        (
            lambda x, slope: Normal(slope[..., None] * x, 1.0),
            r"batch shape \(batch, points\) = \(3, 5\) .* got \(3, 5, 1\)",
        ),
        (lambda x, slope: Normal(x[0, :, 0], 1.0), r"got \(5,\)"),
        (lambda x, slope: Independent(Normal(slope * x[..., 0], 1.0), 1), "Leave Independent out"),
        (lambda x, slope: MultivariateNormal(slope * x[..., 0], torch.eye(5)), r"with events of shape \(5,\)"),
        (lambda x, slope: OneHotCategorical(torch.ones(3, 5, 4)), "must factorise over points"),
        (lambda x, slope: 3.0, "must return a distribution of torch.distributions.* got float"),
        (lambda x, slope: Normal(slope @ x, 1.0), "fails with RuntimeError.* latents of shapes slope"),
    ],
)
def test_laws_that_are_none_are_refused(function, message):
    with pytest.raises(PriorError, match=message):
        made(function)


def test_an_outcome_that_contradicts_the_law_is_refused():
    with pytest.raises(InputError, match=r"outcome is Real\(\); got outcome=Classes\(count=3\). Leave outcome out"):
        prior(num_features=1, slope=Normal(0.0, 1.0), outcome=Classes(3))(line)


def test_a_law_in_the_old_form_says_to_name_latents():
    with pytest.raises(PriorError, match="got Normal, a law. A law needs latents that are named"):
        prior(num_features=1)(lambda x: Normal(x[..., 0], 1.0)).sample(2, 3)


@pytest.mark.parametrize("sound", [waves, groups, simulator])
def test_sound_programs_pass_the_check(sound):
    assert check_prior(sound).num_points == 32


def test_targets_of_a_function_that_only_draws_inside_are_caught():
    drawn_inside = made(lambda x, slope: Normal(slope * x[..., 0] + torch.randn(len(x), 1), 0.1))
    with pytest.raises(PriorError, match="the function draws numbers itself. Name each of them as a latent"):
        check_prior(drawn_inside)


def test_an_ignored_latent_is_caught():
    idle = made(lambda x, slope, other: line(x, slope), slope=Normal(0.0, 1.0), other=Uniform(0.0, 1.0))
    with pytest.raises(PriorError, match="latent 'other' is ignored"):
        check_prior(idle)


def test_a_law_that_joins_points_or_datasets_is_caught():
    with pytest.raises(PriorError, match="changes with the other points of its dataset"):
        check_prior(made(lambda x, slope: Normal(slope * (x[..., 0] - x[..., 0].mean(1, keepdim=True)), 0.1)))
    with pytest.raises(PriorError, match="changes with the other datasets of its batch"):
        check_prior(made(lambda x, slope: Normal((slope - slope.mean()) * x[..., 0], 0.1)))


class Outside(Normal):
    """Draws outside of the support that it names."""

    support = Uniform(0.0, 1.0).support

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, self._get_checked_instance(Outside, _instance))


def test_draws_outside_of_the_support_are_caught():
    with pytest.raises(PriorError, match="of the draws of latent 'slope' lie outside of the support"):
        check_prior(made(slope=Outside(0.0, 1.0)))
