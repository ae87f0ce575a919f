import pytest
import torch
from torch.special import ndtr

import priorfit as pf
from priorfit.baselines.exact.collapsed_bnn import CollapsedBNN
from priorfit.data import Classes
from priorfit.distributions.class_probabilities import log_odds
from priorfit.errors import InputError
from priorfit.network import PFN, LinearSolver, NetworkSettings, Problem, SigmoidHead, SoftmaxHead
from priorfit.network.encoders.inputs import LinearEncoder
from priorfit.network.solver.labels import ProbitRegression
from priorfit.priors.bayesian_network import SMALL
from priorfit.seeding import seeded
from priorfit.training import Budget, DataSettings, Recipe, train

PROBLEM = Problem(3, Classes(2))


def built(components: int = 2, hidden: int = 16) -> ProbitRegression:
    with seeded(0):
        solver = LinearSolver(4, components, hidden).build(PROBLEM, LinearEncoder())
    assert isinstance(solver, ProbitRegression)
    return solver


def network(hidden: int = 0) -> PFN:
    solver = LinearSolver(4, 2, hidden)
    with seeded(1):
        settings = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16, solver=solver)
        return settings.build(PROBLEM).frozen()


def labelled(points: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    with seeded(2):
        return torch.randn(5, points, 3), torch.randint(2, (5, points)).float(), torch.randn(5, 4, 3)


def test_the_guess_is_the_mixture_of_the_components_by_their_evidence():
    solver, (x, y, query) = built(components=3), labelled(7)
    solved = solver.condition(x, y)
    phi = solver.features.phi(query, torch.float32)
    each = ndtr(solved.solution.mean(phi) / (1 + solved.solution.variance(phi)).sqrt())
    mixed = (solved.component_evidence.softmax(1)[..., None] * each).sum(1)
    torch.testing.assert_close(solved.predict(query).ppd.probs[..., 1], mixed.float())


def test_swapping_the_classes_turns_the_guess_around():
    solver, (x, y, query) = built(), labelled(7)
    guess, turned = (log_odds(solver.condition(x, each).predict(query).ppd) for each in (y, 1 - y))
    torch.testing.assert_close(guess, -turned)


@pytest.mark.parametrize("head", [None, SigmoidHead(), SoftmaxHead()])
def test_before_training_a_network_answers_what_the_solver_guesses(head):
    with seeded(1):
        settings = NetworkSettings(16, 1, 2, 16, output=head, solver=LinearSolver(4, 2, hidden=0))
        model = settings.build(PROBLEM).frozen()
    x, y, query = labelled(7)
    assert model.solver is not None
    guess = model.solver.condition(x, y).predict(query).ppd
    torch.testing.assert_close(model.condition(x, y).predict(query).probs, guess.probs)


@pytest.mark.parametrize("hidden", [0, 16])
@pytest.mark.parametrize("points", [0, 1, 30])
def test_cached_and_uncached_answers_agree_and_order_does_not_matter(hidden, points):
    model, (x, y, query) = network(hidden), labelled(points)
    odds = log_odds(model.condition(x, y).predict(query))
    torch.testing.assert_close(log_odds(model(x, y, query)[0]), odds, atol=1e-5, rtol=1e-5)
    order = torch.randperm(points)
    torch.testing.assert_close(log_odds(model.condition(x[:, order], y[:, order]).predict(query)), odds)
    alone = log_odds(model.condition(x[:1], y[:1]).predict(query[:1, :1]))
    torch.testing.assert_close(alone, odds[:1, :1], atol=1e-5, rtol=1e-5)


def test_a_network_with_a_solver_soon_beats_one_without():
    with seeded(3):
        tasks = SMALL.sample(20, 31).split(30)
    data, gaps = DataSettings(batch_size=16, targets="expected"), []
    for solver in (None, LinearSolver(4, 2, hidden=0)):
        settings = NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16, solver=solver)
        model = train(Recipe(SMALL, num_points=32, budget=Budget(steps=40), data=data, network=settings))
        gaps.append(pf.metrics.gap(model, CollapsedBNN(SMALL, num_samples=1024), tasks).mean)
    assert gaps[1] < gaps[0] / 3


def test_it_is_saved_with_the_model(tmp_path):
    model, (x, y, query) = network(), labelled(9)
    model.save(tmp_path / "model")
    logits = pf.load(tmp_path / "model").condition(x, y).predict(query).logits
    torch.testing.assert_close(logits, model.condition(x, y).predict(query).logits)


def test_more_than_two_classes_are_refused():
    settings = NetworkSettings(solver=LinearSolver())
    with pytest.raises(InputError, match=r"is for reals and two classes; this problem has Classes.*Use ClassSolver"):
        settings.build(Problem(1, Classes(3)))
