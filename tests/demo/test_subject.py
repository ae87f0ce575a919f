from pathlib import Path

import pytest
import torch
from tiny_recipes import TINY_NETWORK, tiny_recipe

import priorfit as pf
from priorfit.baselines import ExactGP, HyperGPOracle
from priorfit.data import Classes, Real
from priorfit.demo import subject as subject_module
from priorfit.demo.subject import is_shown, prior_of, reference_for, subject_of, subjects
from priorfit.errors import InputError, UnknownModelError
from priorfit.network import PFN, Problem
from priorfit.priors import HyperGaussianProcess


def saved(folder: Path, problem: Problem) -> Path:
    PFN(TINY_NETWORK if isinstance(problem.outcome, Real) else pf.NetworkSettings(16, 1, 2, 16), problem).save(folder)
    return folder


def test_the_page_offers_the_released_models_of_one_feature() -> None:
    found = subjects()
    assert "gp-rbf-1d" in [subject.name for subject in found]
    assert all(is_shown(subject.model) for subject in found)
    assert isinstance(next(each for each in found if each.name == "gp-rbf-1d").reference.predictor, ExactGP)


def test_the_favourite_comes_first_where_it_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_module, "FIRST", "gp-rbf-1d")
    assert subjects()[0].name == "gp-rbf-1d"
    monkeypatch.setattr(subject_module, "FIRST", "nonsense")
    assert subjects()[0].name == next(name for name in pf.zoo.names() if is_shown(pf.load(name)))


def test_a_model_of_ones_own_comes_first(tmp_path: Path) -> None:
    folder = saved(tmp_path / "mine", Problem(1, Real(), (-2.0, 2.0)))
    first, *others = subjects(folder)
    assert first.name == str(folder) and first.x_range == (-2.0, 2.0)
    assert "gp-rbf-1d" in [subject.name for subject in others]


@pytest.mark.parametrize(
    ("problem", "words"),
    [(Problem(3, Real(), (0.0, 1.0)), "3 columns.*are real"), (Problem(1, Classes(4), (0.0, 1.0)), "are 4 classes")],
)
def test_a_model_that_no_page_can_show_is_refused(problem: Problem, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"one feature and real targets; .*mine takes .*{words}.*gp-rbf-1d"):
        subjects(saved(tmp_path / "mine", problem))


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(UnknownModelError, match="no model 'gp-rbf-1e'"):
        subjects("gp-rbf-1e")


def test_the_window_holds_what_the_prior_draws() -> None:
    subject = subject_of("some", pf.load("gp-rbf-1d"))
    low, high = subject.y_range
    # a standard Normal's quantiles at 0.2 and 99.8 % are -2.88 and 2.88; the room on each side is 8 % of their distance
    assert low == pytest.approx(-2.88 - 0.16 * 2.88, abs=0.1)
    assert high == pytest.approx(2.88 + 0.16 * 2.88, abs=0.1)
    assert subject.value_edges[[0, -1]].tolist() == pytest.approx([low, high])
    steps = subject.query_x[:, 0].diff()
    assert torch.allclose(steps, steps[:1].expand_as(steps), atol=1e-6)
    assert subject.query_x.min().item() == pytest.approx(steps[0].item() / 2, abs=1e-6)


def test_a_model_trained_without_bounds_of_x_gets_a_window() -> None:
    model = PFN(TINY_NETWORK, Problem(1, Real(), None)).frozen()
    assert subject_of("some", model).x_range == (-3.0, 3.0)


def test_a_hyper_prior_is_compared_with_its_oracle_that_is_slow() -> None:
    reference = reference_for(HyperGaussianProcess())
    assert reference is not None
    assert isinstance(reference.predictor, HyperGPOracle) and reference.is_slow


def test_a_prior_that_its_card_cannot_build_has_no_reference() -> None:
    @pf.prior(num_features=1)
    def waves(x):
        return torch.sin(9 * x[..., 0] + torch.randn(len(x), 1))

    model = pf.train(tiny_recipe(steps=1, prior=waves))
    assert prior_of(model) is None
    assert subject_of("waves", model).reference is None
    assert reference_for(pf.BayesianNetwork(1)) is None


def test_the_prior_is_told_in_one_line() -> None:
    model = pf.train(tiny_recipe(steps=1, prior=HyperGaussianProcess()))
    assert subject_of("hyper", model).prior_words == (
        "HyperGaussianProcess: kernel matern52, lengthscale Gamma(3, 6), outputscale Gamma(2, 0.15), "
        "noise Gamma(0.0001, 1), noise floor 1e-06"
    )
    untold = PFN(TINY_NETWORK, Problem(1, Real(), (0.0, 1.0))).frozen()
    assert subject_of("untold", untold).prior_words == "a prior that its card does not tell"
