import pytest
import torch
from torch.special import ndtr

import priorfit as pf
from priorfit.baselines.collapsed_bnn import CollapsedBNN
from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.network import PFN, NetworkSettings, Problem, Regression, SoftmaxHead
from priorfit.network.class_regression import ClassRegression
from priorfit.network.embedding import LinearEncoder
from priorfit.priors.bayesian_network import SMALL
from priorfit.seeding import seeded


def layer(heads: int = 2, hidden: int = 16) -> ClassRegression:
    with seeded(0):
        settings = Regression(4, heads, hidden)
        return ClassRegression(settings, LinearEncoder().build(3, settings.encoded, None), width=12)


def network(hidden: int = 0) -> PFN:
    with seeded(1):
        settings = NetworkSettings(width=16, layers=1, heads=2, feedforward=16, regression=Regression(4, 2, hidden))
        return PFN(settings, Problem(3, Classes(2))).finished()


def labelled(points: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    with seeded(2):
        return torch.randn(5, points, 3), torch.randint(2, (5, points)).float(), torch.randn(5, 4, 3)


def test_the_guess_is_the_mixture_of_the_heads_by_their_evidence():
    regression, (x, y, query) = layer(heads=3), labelled(7)
    solution, _ = regression.remember(x, y)
    guess, _ = regression.answer(query, solution)
    phi = regression.phi(query)
    each = ndtr(solution.mean(phi) / (1 + solution.variance(phi)).sqrt())
    mixed = (solution.log_evidence.softmax(1)[..., None] * each).sum(1)
    torch.testing.assert_close(guess[..., 0].sigmoid(), mixed.float())


def test_swapping_the_classes_turns_the_guess_around():
    regression, (x, y, query) = layer(), labelled(7)
    guess, turned = (regression.answer(query, regression.remember(x, each)[0])[0] for each in (y, 1 - y))
    torch.testing.assert_close(guess, -turned)


def test_before_training_a_network_answers_what_the_layer_guesses():
    model, (x, y, query) = network(), labelled(7)
    assert model.regression is not None
    guess, _ = model.regression.answer(query, model.regression.remember(x, y)[0])
    torch.testing.assert_close(model.condition(x, y).predict(query).logits, guess[..., 0])


@pytest.mark.parametrize("hidden", [0, 16])
@pytest.mark.parametrize("points", [0, 1, 30])
def test_cached_and_uncached_answers_agree_and_order_does_not_matter(hidden, points):
    model, (x, y, query) = network(hidden), labelled(points)
    logits = model.condition(x, y).predict(query).logits
    torch.testing.assert_close(model.head(model(x, y, query)).logits, logits, atol=1e-5, rtol=1e-5)
    order = torch.randperm(points)
    torch.testing.assert_close(model.condition(x[:, order], y[:, order]).predict(query).logits, logits)
    alone = model.condition(x[:1], y[:1]).predict(query[:1, :1]).logits
    torch.testing.assert_close(alone, logits[:1, :1], atol=1e-5, rtol=1e-5)


def test_a_network_with_a_regression_soon_beats_one_without():
    tasks = SMALL.sample(60, 31).split(30)
    gaps = []
    for regression in (None, Regression(4, 2, hidden=0)):
        settings = NetworkSettings(width=16, layers=1, heads=2, feedforward=16, regression=regression)
        model = pf.fit(SMALL, num_points=32, steps=80, seed=0, targets="expected", network=settings, progress=False)
        gaps.append(pf.metrics.gap(model, CollapsedBNN(SMALL, num_samples=1024), tasks).mean)
    assert gaps[1] < gaps[0] / 3


def test_it_is_saved_with_the_model(tmp_path):
    model, (x, y, query) = network(), labelled(9)
    model.save(tmp_path / "model")
    logits = pf.load(tmp_path / "model").condition(x, y).predict(query).logits
    torch.testing.assert_close(logits, model.condition(x, y).predict(query).logits)


def test_more_than_two_classes_are_refused():
    settings = NetworkSettings(regression=Regression())
    with pytest.raises(InputError, match="is for two classes; leave network.regression out"):
        PFN(settings, Problem(1, Classes(3)))
    with pytest.raises(InputError, match="guides a SigmoidHead"):
        PFN(NetworkSettings(regression=Regression(), head=SoftmaxHead()), Problem(1, Classes(2)))
