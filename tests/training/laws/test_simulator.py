import math
import time

import pytest
import torch
from torch.distributions import Normal
from torch.testing import assert_close

import priorfit as pf
from priorfit.seeding import seeded
from priorfit.training.laws.network import LawNetwork
from priorfit.training.laws.simulator import Simulator, mean, steps_within


@pf.prior(num_features=1, slope=Normal(0.0, 1.0))
def lines(x: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
    """Lines of an unknown slope."""
    return slope * x[..., 0]


def simulator_of(prior: pf.priors.ProgramPrior) -> Simulator:
    return Simulator(prior, LawNetwork(prior, prior.latents, seed=0))


def test_targets_are_those_of_the_function_at_the_latents_that_coordinates_name():
    simulator = simulator_of(lines)
    with seeded(0):
        found = simulator.new(1.4)
    y = found.y * simulator.network.scale + simulator.network.shift
    assert_close(y, found.u[..., 0] * found.x[..., 0], atol=1e-5, rtol=1e-5)
    assert bool(found.is_finite.all())


def test_half_of_the_latents_are_spread_wider():
    simulator = simulator_of(lines)
    with seeded(0):
        u = torch.stack([simulator.new(1.4).u[:, 0, 0] for _ in range(100)])  # (batches, datasets)
    assert u[:, ::2].std() == pytest.approx(1.4, rel=0.03)
    assert u[:, 1::2].std() == pytest.approx(1.0, rel=0.03)


def test_targets_that_overflow_are_left_out():
    simulator = simulator_of(lines)
    broken = pf.prior(num_features=1, slope=Normal(0.0, 1.0))(
        lambda x, slope: torch.where(slope > 1, math.nan, slope) * x[..., 0]
    )
    simulator.prior = broken
    with seeded(0):
        found = simulator.new()
    assert_close(found.is_finite, found.u[..., 0] <= 1)
    each = torch.where(found.is_finite, 2.0, 1e9)
    assert float(mean(each, found)) == 2.0
    assert bool(found.y.isfinite().all())


def test_a_slow_simulator_is_asked_for_no_more_than_half_of_the_time():
    simulator = simulator_of(lines)
    first = simulator.batch()
    assert simulator.batch() is first  # nothing has been learned since
    simulator.learning = simulator.drawing + 1.0
    assert simulator.batch() is not first


def test_steps_end_with_the_time_and_the_rate_with_the_steps():
    started, rates = time.perf_counter(), []
    for done, rate in steps_within(0.3):
        time.sleep(0.005)
        rates.append(rate)
        assert 0 <= done < 1
    assert 0.1 < time.perf_counter() - started < 3.0
    assert len(rates) >= 2 and max(rates) <= 1 and rates[-1] < 0.1


def test_there_are_two_steps_at_least():
    assert len(list(steps_within(0.0))) == 2
