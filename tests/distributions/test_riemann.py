import pytest
import torch

from priorfit.distributions import BoundedRiemann, UnboundedRiemann
from priorfit.errors import ShapeError

BORDERS = torch.tensor([-2.0, -1.0, 1.0, 2.0], dtype=torch.float64)
LOGITS = torch.tensor([0.25, 0.5, 0.25], dtype=torch.float64).log()
both = pytest.mark.parametrize("family", [BoundedRiemann, UnboundedRiemann])


def test_the_numbers_that_other_libraries_get_wrong():
    ppd = UnboundedRiemann(BORDERS, LOGITS)
    assert ppd.log_prob(torch.tensor(0.0)).exp().item() == pytest.approx(0.25, abs=1e-12)
    assert ppd.icdf(torch.tensor(0.999, dtype=torch.float64)).item() == pytest.approx(5.267, abs=5e-4)
    assert ppd.sample((4000,)).abs().max() > 2


def test_half_of_a_tails_mass_lies_within_its_bucket():
    ppd = UnboundedRiemann(BORDERS, LOGITS)
    torch.testing.assert_close(ppd.cdf(BORDERS), torch.tensor([0.125, 0.25, 0.75, 0.875], dtype=torch.float64))


def test_the_upper_tail_keeps_its_digits():
    ppd = UnboundedRiemann(BORDERS, LOGITS)
    level = torch.tensor(1 - 2.0**-40, dtype=torch.float64)
    torch.testing.assert_close(ppd.icdf(level), -ppd.icdf(1 - level), rtol=1e-13, atol=0)


@pytest.mark.parametrize("validate", [True, False, None])
@both
def test_a_value_outside_the_borders_never_crashes(family, validate):
    ppd = family(BORDERS, LOGITS, validate_args=validate)
    outside = torch.tensor([-3.0, 3.0], dtype=torch.float64)
    assert ppd.log_prob(outside).isfinite().all() == (family is UnboundedRiemann)
    assert ((ppd.cdf(outside) == torch.tensor([0.0, 1.0])).all()) == (family is BoundedRiemann)


def test_both_ends_belong_to_a_bounded_support():
    ppd = BoundedRiemann(BORDERS, LOGITS)
    assert ppd.log_prob(BORDERS).isfinite().all()
    assert ppd.support.check(BORDERS).all()
    assert not ppd.support.check(torch.tensor(2.1))


def test_one_unbounded_bucket_is_refused():
    with pytest.raises(ShapeError, match="at least 2 buckets, one for each tail; got 1"):
        UnboundedRiemann(torch.tensor([0.0, 1.0]), torch.zeros(1))


@both
def test_borders_and_logits_of_different_lengths_are_refused(family):
    with pytest.raises(ShapeError, match=r"one entry more than logits.*\(4,\) and \(4,\)"):
        family(BORDERS, torch.zeros(4))


@pytest.mark.parametrize("borders", [[0.0, 1.0, 1.0], [0.0, 2.0, 1.0], [0.0, 1.0, torch.inf]])
@both
def test_borders_that_do_not_increase_are_refused(family, borders):
    with pytest.raises(ValueError, match="borders.*StrictlyIncreasing"):
        family(torch.tensor(borders), torch.zeros(2), validate_args=True)


@both
@pytest.mark.parametrize("shape", [(2, 1), (1, 3), (2, 3), (3,), (1, 1), ()])
def test_borders_of_any_batch_shape_give_what_single_ones_give(family, shape):
    borders = (torch.rand(*shape, 6, dtype=torch.float64) + 0.1).cumsum(-1)
    logits = torch.randn(2, 3, 5, dtype=torch.float64)
    y = 4 * torch.rand(4, 2, 3, dtype=torch.float64) - 0.5
    ppd, every_border = family(borders, logits), borders.expand(2, 3, 6)
    assert ppd.batch_shape == (2, 3)
    for i in range(2):
        for j in range(3):
            single = family(every_border[i, j], logits[i, j])
            torch.testing.assert_close(ppd.log_prob(y)[:, i, j], single.log_prob(y[:, i, j]))
            torch.testing.assert_close(ppd.cdf(y)[:, i, j], single.cdf(y[:, i, j]))
            torch.testing.assert_close(ppd.mode[i, j], single.mode)


@both
def test_an_empty_batch_gives_empty_answers(family):
    ppd = family(BORDERS, torch.zeros(0, 5, 3, dtype=torch.float64))
    assert ppd.log_prob(torch.zeros(0, 5, dtype=torch.float64)).shape == (0, 5)
    assert ppd.sample((2,)).shape == (2, 0, 5)


@both
def test_gradients_of_the_loss_stay_finite_with_empty_buckets_and_far_values(family):
    logits = torch.tensor([0.0, -torch.inf, 60.0], dtype=torch.float64, requires_grad=True)
    borders = BORDERS.clone().requires_grad_()
    ppd = family(borders, logits)
    y = torch.tensor([-1e4, -1.5, 0.0, 1.5, 1e4], dtype=torch.float64)
    log_prob = ppd.log_prob(y)
    assert log_prob[2] == -torch.inf
    gradients = torch.autograd.grad(log_prob[log_prob.isfinite()].sum() + ppd.entropy(), (logits, borders))
    assert all(gradient.isfinite().all() for gradient in gradients)


@both
def test_mixed_precisions_are_promoted(family):
    assert family(BORDERS, LOGITS.float()).mean.dtype == torch.float64
    assert family(BORDERS.float(), LOGITS.float()).log_prob(torch.zeros(2, dtype=torch.float64)).dtype == torch.float32


def test_the_loss_makes_no_temporaries_for_each_bucket_but_the_log_softmax():
    borders, logits = torch.linspace(-3, 3, 1001), torch.zeros(64, 20, 1000)
    ppd, y = UnboundedRiemann(borders, logits, validate_args=False), torch.randn(64, 20)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        ppd.log_prob(y)
    allocated = sum(max(event.self_cpu_memory_usage, 0) for event in profile.key_averages())
    assert allocated < 1.5 * logits.numel() * logits.element_size()
