import numpy as np
import pytest
import torch
from torch.distributions import Normal

import priorfit as pf
from priorfit.demo.state import (
    LEVELS,
    MOST_CHECKED,
    Points,
    answer,
    cell_density,
    cross_section,
    has_surprise,
    remarks,
    shades,
    surprise_status,
)
from priorfit.demo.subject import Subject, subject_of

POINTS = Points.of([0.2, 0.5, 0.7], [0.3, -0.4, -0.2])


@pytest.fixture(scope="module")
def subject() -> Subject:
    return subject_of("gp-rbf-1d", pf.load("gp-rbf-1d"))


def test_points_are_a_context() -> None:
    x, y = POINTS.tensors
    assert x.shape == (3, 1) and y.shape == (3,)
    assert x[:, 0].tolist() == pytest.approx(list(POINTS.x))
    empty_x, empty_y = Points().tensors
    assert empty_x.shape == (0, 1) and empty_y.shape == (0,)


def test_points_can_be_taken_away() -> None:
    assert POINTS.without([1]) == Points((0.2, 0.7), (0.3, -0.2))
    assert POINTS.without([0, 2]) == Points((0.5,), (-0.4,))
    assert POINTS.without([]) == POINTS


def test_points_outside_of_the_window_are_left_behind(subject: Subject) -> None:
    assert Points.of([0.5, 1.5, 0.6], [0.0, 0.0, 90.0]).inside(subject) == Points((0.5,), (0.0,))


@pytest.mark.parametrize("points", [Points(), POINTS])
def test_the_bands_are_the_models_own_answer(points: Points, subject: Subject) -> None:
    given = answer(subject, points)
    x, y = points.tensors
    ppd = subject.model.condition(x, y).predict(subject.query_x)
    assert given.bands.mean == pytest.approx(ppd.mean.numpy(), abs=1e-6)
    limits = (given.bands.low95, given.bands.low50, given.bands.high50, given.bands.high95)
    for level, limit in zip(LEVELS, limits, strict=True):
        assert ppd.cdf(torch.from_numpy(limit)).numpy() == pytest.approx(level, abs=1e-4)
    assert given.milliseconds > 0


def test_the_reference_is_the_exact_posterior(subject: Subject) -> None:
    given = answer(subject, POINTS, "reference")
    ppd = pf.exact(pf.GaussianProcess(lengthscale=0.6, noise=1e-4)).condition(*POINTS.tensors).predict(subject.query_x)
    assert given.bands.mean == pytest.approx(ppd.mean.numpy(), abs=1e-6)
    assert given.bands.high95 == pytest.approx((ppd.mean + 1.959964 * ppd.stddev).numpy(), abs=1e-4)


def test_a_cell_shows_the_probability_that_y_falls_into_it() -> None:
    edges = torch.linspace(-8, 8, 41)
    wide = Normal(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.5]))
    density = cell_density(wide, edges)
    assert density.shape == (40, 2)
    assert (density * 0.4).sum(axis=0) == pytest.approx([1.0, 1.0], abs=1e-5)
    middles = (edges[:-1] + edges[1:]) / 2
    assert density[:, 0] == pytest.approx(wide.log_prob(middles[:, None]).exp()[:, 0].numpy(), abs=0.01)


def test_a_ridge_narrower_than_a_cell_is_not_missed() -> None:
    needle = Normal(torch.tensor([0.013]), torch.tensor([1e-5]))
    density = cell_density(needle, torch.linspace(-1, 1, 11))
    assert density[5, 0] == pytest.approx(1 / 0.2, rel=1e-4)
    assert density.sum() == pytest.approx(1 / 0.2, rel=1e-4)


def test_a_distribution_of_many_buckets_is_read_in_parts() -> None:
    borders = torch.linspace(-3, 3, 501)
    ppd = pf.distributions.UnboundedRiemann(borders, torch.randn(7, 500))
    edges = torch.linspace(-2, 2, 81)
    whole = ppd.cdf(edges[:, None]).diff(dim=0) / (4 / 80)
    assert cell_density(ppd, edges) == pytest.approx(whole.numpy(), abs=1e-4)


def test_shades_run_from_nothing_to_the_typical_peak() -> None:
    density = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 50.0], [0.5, 0.0, 2.0]])
    found = shades(density)
    assert found.dtype == np.uint8
    assert found[0].tolist() == [0, 0, 0]
    assert found[1].tolist() == [round(255 * 0.5**0.4), 255, 255]  # the median of the peaks 1, 2, 50 is 2


def test_nothing_to_see_is_all_light() -> None:
    assert shades(np.zeros((4, 5))).max() == 0


@pytest.mark.parametrize("who", ["model", "reference"])
def test_a_cut_is_the_density_at_its_x(who: str, subject: Subject) -> None:
    given = answer(subject, POINTS.without([0]), who)
    cut = cross_section(subject, given, 0.05)
    predictor = subject.model if who == "model" else subject.reference.predictor
    ppd = predictor.condition(*POINTS.without([0]).tensors).predict(torch.tensor([[0.05]]))
    exact = ppd.log_prob(torch.from_numpy(cut.values)[:, None]).exp()[:, 0].numpy()
    assert cut.x == 0.05
    assert cut.density == pytest.approx(exact, abs=0.01 * float(exact.max()))


def test_points_of_the_prior_are_no_surprise(subject: Subject) -> None:
    with pf.seeded(3):
        drawn = pf.GaussianProcess(lengthscale=0.6, noise=1e-4).sample(20, 8)
    found = [
        has_surprise(subject, Points.of(x[:, 0].tolist(), y.tolist())) for x, y in zip(drawn.x, drawn.y, strict=True)
    ]
    assert sum(found) == 0
    assert not has_surprise(subject, Points())


def test_points_that_no_draw_would_have_are_a_surprise(subject: Subject) -> None:
    assert has_surprise(subject, Points.of([0.1, 0.11, 0.5], [1.0, -1.0, 0.0]))
    assert has_surprise(subject, Points.of([0.5], [6.0]))
    (remark,) = remarks(subject, Points.of([0.5], [6.0]))
    assert "hardly ever draw such points" in remark


def test_more_points_than_training_showed_get_a_remark(subject: Subject) -> None:
    assert subject.trained_context is not None
    count = subject.trained_context[1] + 1
    x = np.linspace(0, 1, count)
    assert remarks(subject, Points.of(x, 0.1 * x)) == [
        f"The model was trained on 0 to {count - 1} points, not on {count}."
    ]
    assert remarks(subject, POINTS.without([0])) == []


def test_many_points_are_not_checked_for_surprises(subject: Subject) -> None:
    x = np.linspace(0, 1, MOST_CHECKED + 1)
    zigzag = Points.of(x, (-1.0) ** np.arange(len(x)))
    assert has_surprise(subject, zigzag.without([0]))
    assert not has_surprise(subject, zigzag)


def test_a_p_value_says_whether_the_prior_drew_the_points(subject: Subject) -> None:
    usual = answer(subject, Points.of([0.1, 0.4, 0.8], [0.2, 0.5, 0.1]))
    strange = answer(subject, Points.of([0.1, 0.11, 0.12, 0.5], [2.0, -2.0, 2.0, -2.0]))
    assert surprise_status(usual).startswith("surprise: p = 0.")
    assert surprise_status(strange).startswith("surprise: p = 0.01, ")
    assert surprise_status(answer(subject, Points())) == ""
