from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.special import ndtri

import priorfit as pf
from priorfit.baselines import ExactGP
from priorfit.demo.functions import EXAMPLES, coarse_to_fine, draw_functions, drawn_in_turn, example, uniforms
from priorfit.demo.state import Points, has_surprise
from priorfit.demo.subject import Subject, subject_of
from priorfit.errors import InputError

GP = pf.GaussianProcess(lengthscale=0.3, noise=0.01)


@pytest.fixture(scope="module")
def subject() -> Subject:
    return subject_of("gp-rbf-1d", pf.load("gp-rbf-1d"))


def test_drawing_in_turn_draws_from_the_joint_distribution() -> None:
    """For a GP, a y after the other is a row of the Cholesky factor after the other."""
    x, numbers = torch.linspace(0, 1, 12), uniforms(5, 12, seed=1)
    drawn = torch.stack(list(drawn_in_turn(ExactGP(GP), Points().tensors, x, numbers)), dim=1)
    factor = torch.linalg.cholesky(GP.noisy_covariance(x[:, None]))
    joint = ndtri(numbers.double()) @ factor.T
    assert torch.allclose(drawn.double(), joint, atol=1e-4)


def test_drawing_in_turn_keeps_to_the_context() -> None:
    points = Points.of([0.2, 0.6], [1.0, -1.0])
    drawn = torch.stack(
        list(drawn_in_turn(ExactGP(GP), points.tensors, torch.tensor([0.2, 0.6]), uniforms(400, 2, seed=0)))
    )
    exact = ExactGP(GP).condition(*points.tensors).predict(torch.tensor([[0.2], [0.6]]))
    assert drawn.mean(1).numpy() == pytest.approx(exact.mean.numpy(), abs=4 * exact.stddev.max().item() / 20)


def test_functions_lie_on_an_even_grid_in_the_order_of_x(subject: Subject) -> None:
    *before, drawn = draw_functions(subject, Points.of([0.5], [0.3]), count=3)
    assert [len(each.x) for each in before] == list(range(2, len(drawn.x)))
    assert before[1].x.tolist() == pytest.approx([0.0, 20 / 39, 1.0])
    for each in before:  # what was drawn stays
        assert (each.y == drawn.y[:, np.searchsorted(drawn.x, each.x)]).all()
    assert drawn.y.shape == (3, len(drawn.x))
    assert drawn.x[[0, -1]].tolist() == [0.0, 1.0]
    # functions of lengthscale 0.6 on a grid of step 1/39: a wrong order of the places would make them jump
    assert abs(drawn.y[:, 1:] - drawn.y[:, :-1]).max() < 0.4
    assert drawn.y.std(axis=0).max() > 0.1


def test_the_same_seed_draws_the_same_functions_and_no_global_generator_moves(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("priorfit.demo.functions.NUM_PLACES", 5)
    points, before = Points.of([0.5], [0.3]), torch.get_rng_state()
    first, again, other = (list(draw_functions(subject, points, 2, seed))[-1].y for seed in (1, 1, 2))
    assert (first == again).all() and not (first == other).all()
    assert torch.equal(torch.get_rng_state(), before)


def test_functions_never_take_more_points_than_training_showed(subject: Subject) -> None:
    assert subject.trained_context is not None
    most = subject.trained_context[1]
    x = torch.linspace(0, 1, most - 1)
    points = Points.of(x.tolist(), (0.1 * x).tolist())
    (drawn,) = draw_functions(subject, points, 1)  # a warning would be an error
    assert len(drawn.x) == 2
    more = Points.of([*points.x, 0.5], [*points.y, 0.05])
    with pytest.raises(InputError, match=f"at most {most} points.*there are {most} already"):
        next(draw_functions(subject, more, 1))


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_coarse_to_fine_is_an_order_of_all_places(count: int) -> None:
    order = coarse_to_fine(count).tolist()
    assert sorted(order) == list(range(count))
    assert order[:2] == [0, count - 1][:count]
    for length in range(2, count + 1):
        gaps = np.diff(sorted(order[:length]))
        assert gaps.max() <= 2 * gaps.min() + 2


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_likely_under_the_prior(name: str, subject: Subject) -> None:
    points = example(subject, name)
    assert len(points) == len(EXAMPLES[name])
    assert points.inside(subject) == points
    assert not has_surprise(subject, points)


def test_an_example_has_no_more_points_than_training_showed(subject: Subject) -> None:
    card = replace(subject.model.card, trained_context=(0, 5))
    model = pf.load("gp-rbf-1d")
    model.card = card
    assert len(example(subject_of("short", model), "twenty points")) == 5
