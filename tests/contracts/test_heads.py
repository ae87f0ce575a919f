"""What every head must do."""

import pytest
import torch
from contracts.heads import GUIDED, HEADS, ITSELF, ONE, SOME, TWO
from torch.distributions import Categorical, Distribution, Normal

from priorfit.data import Classes, Outcome, Real
from priorfit.distributions import affine
from priorfit.errors import InputError
from priorfit.network import CorrectedMixtureHead, NormalHead, NormalMixtureHead, SigmoidHead
from priorfit.network.heads.head import Head, HeadSettings
from priorfit.seeding import seeded

every_head = pytest.mark.parametrize(("settings", "outcome"), HEADS.values(), ids=HEADS.keys())


every_guide = pytest.mark.parametrize("case", GUIDED)


def built(settings: HeadSettings, outcome: Outcome) -> Head:
    with seeded(0):
        return settings.build(outcome, torch.randn(20_000))


def targets_of(outcome: Outcome, shape: tuple[int, ...]) -> torch.Tensor:
    with seeded(1):
        if isinstance(outcome, Classes):
            return torch.randint(0, outcome.count, shape).double()
        return torch.randn(shape, dtype=torch.float64)


@every_head
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_any_numbers_give_a_distribution_in_single_precision_at_least(settings, outcome, dtype):
    head = built(settings, outcome)
    with seeded(2):
        parameters = (5 * torch.randn(3, 7, head.num_parameters)).to(dtype)
    ppd = head(parameters)
    assert (ppd.batch_shape, ppd.event_shape) == ((3, 7), ())
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    density = ppd.log_prob(targets_of(outcome, (3, 7)).to(wide))
    assert density.isfinite().all()
    assert density.dtype == wide


@every_head
def test_before_training_a_head_is_wide_enough_for_its_prior(settings, outcome):
    head = built(settings, outcome)
    ppd = head(head.initial_bias().expand(1, 1, -1))
    assert -ppd.log_prob(targets_of(outcome, (500, 1)).float()).mean() < 2.2


@every_head
def test_both_losses_have_the_same_mean_gradient(settings, outcome):
    head = built(settings, outcome).double()
    with seeded(3):
        start = head.initial_bias().double() + 0.3 * torch.randn(head.num_parameters, dtype=torch.float64)
    draws = 40_000
    if isinstance(outcome, Classes):
        probs = torch.linspace(1, 2, outcome.count, dtype=torch.float64)
        target = Categorical(probs=probs.expand(1, draws, -1))
    else:
        target = Normal(torch.full((1, draws), 0.3, dtype=torch.float64), 0.2)
    with seeded(4):
        drawn = target.sample()
    gradients = []
    for is_expected in (False, True):
        parameters = start.expand(1, draws, -1).clone().requires_grad_()
        ppd = head(parameters)
        loss = head.expected_log_prob(ppd, target, drawn) if is_expected else ppd.log_prob(drawn.double())
        if not loss.isfinite().all():
            pytest.skip("a Normal has mass outside of a bounded support: its expected log density is -inf")
        gradients.append(torch.autograd.grad(loss.sum(), parameters)[0][0])  # (draws, parameters)
    sampled, expected = gradients
    error = sampled.std(0) / draws**0.5 + expected.std(0) / draws**0.5
    rare = 10 / draws  # of a bucket that hardly any draw meets, the spread is not to be had from draws
    assert ((sampled.mean(0) - expected.mean(0)).abs() <= 5 * error + rare).all()
    assert expected.std(0).sum() < 0.6 * sampled.std(0).sum()  # what it is for


@every_head
def test_the_other_outcome_is_refused(settings, outcome):
    other = Real() if isinstance(outcome, Classes) else Classes(2)
    with pytest.raises(InputError, match="Use "):
        settings.build(other, None)


def correction(case: str, size: float) -> Distribution:
    """The guess of a case as its head corrects it by random numbers of some size."""
    settings, outcome, guess = GUIDED[case]
    head = built(settings, outcome).double()
    with seeded(5):
        parameters = size * torch.randn(3, 7, head.num_parameters, dtype=torch.float64)
    return head(parameters, guess)


@pytest.mark.parametrize("case", ITSELF)
def test_where_the_network_adds_nothing_a_guess_stays_as_it_is(case: str):
    outcome, guess, corrected = GUIDED[case][1], GUIDED[case][2], correction(case, 0.0)
    assert corrected.batch_shape == (3, 7)
    y = targets_of(outcome, (50, 3, 7))
    y = y if isinstance(outcome, Classes) else guess.mean + 3 * guess.stddev * y
    torch.testing.assert_close(corrected.log_prob(y), guess.log_prob(y))


@every_guide
def test_a_corrected_guess_has_mass_one(case: str):
    corrected, guess = correction(case, 1.0), GUIDED[case][2]
    if isinstance(corrected, Categorical):
        torch.testing.assert_close(corrected.probs.sum(-1), torch.ones(3, 7, dtype=torch.float64))
        return
    unit = torch.linspace(-60, 60, 200_001, dtype=torch.float64)[:, None, None]
    grid = guess.mean + guess.stddev * unit
    mass = torch.trapezoid(corrected.log_prob(grid).exp(), grid, dim=0)
    torch.testing.assert_close(mass, torch.ones_like(mass), atol=2e-3, rtol=0)


@every_guide
def test_a_correction_moves_with_its_guess(case: str):
    """Of reals, the head's own numbers are in units of the guess; of classes, they are added to its log odds."""
    settings, outcome, guess = GUIDED[case]
    head = built(settings, outcome).double()
    with seeded(6):
        parameters = torch.randn(3, 7, head.num_parameters, dtype=torch.float64)
    corrected = head(parameters, guess)
    if isinstance(corrected, Categorical):
        added = corrected.logits - guess.logits
        own = head(parameters).logits
        torch.testing.assert_close(added - added[..., :1], own - own[..., :1])
        return
    moved = head(parameters, affine(guess, torch.tensor(3.0).double(), torch.tensor(-2.0).double()))
    torch.testing.assert_close(moved.mean, 3 * corrected.mean - 2)
    torch.testing.assert_close(moved.stddev, 3 * corrected.stddev)


@pytest.mark.parametrize("head", [NormalHead(), NormalMixtureHead(3)])
def test_a_mixture_is_corrected_by_its_mean_and_deviation_where_a_head_has_no_components_for_it(head: HeadSettings):
    one = built(head, Real()).double()
    corrected = one(torch.zeros(3, 7, one.num_parameters, dtype=torch.float64), SOME)
    torch.testing.assert_close(corrected.mean, SOME.mean)
    torch.testing.assert_close(corrected.stddev, SOME.stddev)


def test_a_guess_of_another_kind_is_refused():
    with pytest.raises(
        InputError, match="CorrectedMixtureHead corrects a NormalMixture.*Give the network a LatentSolver"
    ):
        built(CorrectedMixtureHead(4), Real())(torch.zeros(3, 7, 12), ONE)
    with pytest.raises(InputError, match="expected a distribution over classes"):
        built(SigmoidHead(), Classes(2))(torch.zeros(3, 7, 1), ONE)
    assert built(SigmoidHead(), Classes(2))(torch.zeros(3, 7, 1), TWO).probs.shape == (3, 7, 2)


@pytest.mark.parametrize("name", ["sigmoid", "softmax"])
def test_classes_are_always_a_categorical(name: str):
    settings, outcome = HEADS[name]
    head = built(settings, outcome)
    ppd = head(torch.randn(3, 7, head.num_parameters))
    assert isinstance(ppd, Categorical) and isinstance(outcome, Classes)
    assert ppd.probs.shape == (3, 7, outcome.count)
