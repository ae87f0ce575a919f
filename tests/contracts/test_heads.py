"""What every head must do."""

import pytest
import torch
from contracts.heads import HEADS
from torch.distributions import Categorical, Normal

from priorfit.data import Classes, Outcome, Real
from priorfit.errors import InputError
from priorfit.network.heads import Head, HeadSettings
from priorfit.seeding import seeded

every_head = pytest.mark.parametrize(("settings", "outcome"), HEADS.values(), ids=HEADS.keys())


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
