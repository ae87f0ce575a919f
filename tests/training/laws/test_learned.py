import pytest
import torch
from torch.distributions import (
    Bernoulli,
    Categorical,
    Distribution,
    MixtureSameFamily,
    Normal,
    StudentT,
    Uniform,
)

import priorfit as pf
from priorfit.importance.branches import branches_of
from priorfit.seeding import seeded
from priorfit.training.laws import another_point, learned
from priorfit.training.laws.learned import chosen, is_learnable, learned_law
from priorfit.training.schedule import learning_rate_factor

STEPS = 250


def normal(mean: torch.Tensor) -> Distribution:
    return Normal(mean, 0.2)


def heavy(mean: torch.Tensor) -> Distribution:
    return StudentT(3.0, mean, 0.2)


def branched(mean: torch.Tensor) -> Distribution:
    parts = torch.stack([mean, mean + 2], dim=-1)
    return MixtureSameFamily(Categorical(torch.tensor([0.3, 0.7]).expand_as(parts)), Normal(parts, 0.2))


def labelled(mean: torch.Tensor) -> Distribution:
    return Bernoulli(logits=3 * mean)


def prior_of(law, returns_law: bool) -> pf.priors.ProgramPrior:
    @pf.prior(
        num_features=1, outcome=None if law is not labelled or returns_law else pf.Classes(2), a=Uniform(-1.0, 1.0)
    )
    def curves(x: torch.Tensor, a: torch.Tensor):
        found = law(torch.sin(2 * x[..., 0]) * a)
        return found if returns_law else found.sample()

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


@pytest.mark.parametrize(
    ("law", "normals", "far"), [(normal, 1, 0.01), (heavy, 4, 0.03), (branched, 2, 0.02), (labelled, 1, 0.01)]
)
def test_the_law_is_near_that_of_the_program_and_in_its_form(law, normals: int, far: float):
    """KL(law || learned law) of a point in nats, over draws of the latents."""
    found = learned_law(prior_of(law, returns_law=False), 1.0, seed=0)
    truth = prior_of(law, returns_law=True)
    with seeded(3):
        drawn = truth.sample(2_000, 8)
    mine, exact = (each.law(drawn.x, drawn.latents) for each in (found, truth))
    assert float((exact.log_prob(drawn.y) - mine.log_prob(drawn.y)).mean()) < far
    branches = branches_of(mine)
    assert branches is not None and branches.scale.shape[-1] == normals
    assert found.outcome == truth.outcome and found.latents[0].name == "a" and found.factorises


def test_the_cheapest_form_is_chosen_unless_another_is_worth_its_cost():
    assert chosen([[1.0, 0.995, 0.992]]) == 0
    assert chosen([[1.0, 0.95, 0.945]]) == 1
    assert chosen([[1.0, 0.95, 0.9], [1.0, 0.97, 0.92]]) == 2


def test_priors_with_a_law_without_latents_or_with_classes_as_latents_are_not_learned():
    assert is_learnable(prior_of(normal, returns_law=False))
    assert not is_learnable(prior_of(normal, returns_law=True))
    assert not is_learnable(pf.GaussianProcess())
    assert not is_learnable(pf.prior(num_features=1)(lambda x: x[..., 0]))
    kinds = pf.prior(num_features=1, kind=Categorical(torch.ones(2)))(lambda x, kind: kind * x[..., 0])
    assert not is_learnable(kinds)
