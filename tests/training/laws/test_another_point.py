import math

import pytest
import torch
from torch.distributions import Uniform

import priorfit as pf
from priorfit.seeding import seeded
from priorfit.training.laws import another_point, learned
from priorfit.training.laws.learned import DEPENDENT, learned_law
from priorfit.training.schedule import learning_rate_factor

STEPS = 200


def noisy(bond: float, is_scale: bool = False) -> pf.priors.ProgramPrior:
    """Curves whose noise is shared by all points of a dataset, as far as ``bond`` says."""

    @pf.prior(num_features=1, height=Uniform(-1.0, 1.0))
    def curves(x: torch.Tensor, height: torch.Tensor) -> torch.Tensor:
        own, shared = torch.randn(x.shape[:2]), torch.randn(len(x), 1)
        noise = own * (bond * shared).exp() if is_scale else bond**0.5 * shared + (1 - bond) ** 0.5 * own
        return height * x[..., 0] + 0.2 * noise

    return curves


@pytest.fixture(autouse=True)
def _fixed_steps(monkeypatch: pytest.MonkeyPatch):
    """As many steps on any machine."""
    for module in (learned, another_point):
        monkeypatch.setattr(
            module,
            "steps_within",
            lambda _: ((step / STEPS, learning_rate_factor(step, STEPS, 0.05)) for step in range(STEPS)),
        )


def test_independent_points_tell_nothing_of_each_other():
    law = learned_law(noisy(0.0), 1.0, seed=0)
    assert abs(law.told) < DEPENDENT / 4
    assert law.factorises and law.steps == STEPS


@pytest.mark.parametrize("bond", [0.3, 0.8])
def test_what_correlated_points_tell_is_their_mutual_information(bond: float):
    """Normals of correlation r: -log(1 - r^2) / 2 nats, of which a small network finds most."""
    law = learned_law(noisy(bond), 1.0, seed=0)
    exact = -0.5 * math.log(1 - bond**2)
    assert 0.7 * exact < law.told < 1.1 * exact
    assert not law.factorises


def test_a_shared_scale_of_the_noise_is_found_too():
    with seeded(0):
        assert not learned_law(noisy(0.8, is_scale=True), 1.0, seed=0).factorises
