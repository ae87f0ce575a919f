import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from tiny_recipes import tiny_recipe
from torch.distributions import Categorical, Distribution, Normal

import priorfit as pf
from priorfit.baselines import ExactBetaBernoulli, ExactGP
from priorfit.data import Batch
from priorfit.errors import InputError, OutsideTrainingWarning, UnknownModelError
from priorfit.priors import GaussianProcess
from priorfit.verify import Report
from priorfit.verify.calibration import calibration_check
from priorfit.verify.page import save_page
from priorfit.verify.surprises import surprise_check
from priorfit.verify.tasks import Examined

GP = pf.GaussianProcess(lengthscale=0.4, noise=0.01)
COINS = pf.BetaBernoulli()


@dataclass(frozen=True)
class Spoiled:
    """The exact GP with one fault."""

    fault: str

    def condition(self, context_x: torch.Tensor, context_y: torch.Tensor) -> "Spoiled.Posterior":
        if self.fault == "order" and context_y.shape[-1]:
            context_y = context_y + 0.1 * context_y[..., :1]
        if self.fault == "batch":
            context_y = context_y + context_y.mean()
        return Spoiled.Posterior(self.fault, ExactGP(GP).condition(context_x, context_y))

    @dataclass(frozen=True)
    class Posterior:
        fault: str
        exact: pf.Posterior

        def predict(self, query_x: torch.Tensor) -> Distribution:
            ppd = self.exact.predict(query_x)
            assert isinstance(ppd, Normal)
            if self.fault == "queries":
                return Normal(ppd.loc + ppd.scale.mean(-1, keepdim=True), ppd.scale)
            shift = 0.7 * ppd.scale if self.fault == "shift" else 0
            scale = {"narrow": 0.6, "wide": 1.7}.get(self.fault, 1.0)
            return Normal(ppd.loc + shift, scale * ppd.scale)


@dataclass(frozen=True)
class Overconfident:
    """Probabilities of coins that are too far from one half."""

    def condition(self, context_x: torch.Tensor, context_y: torch.Tensor) -> "Overconfident":
        return self

    def predict(self, query_x: torch.Tensor) -> Distribution:
        return Categorical(torch.tensor([0.05, 0.95]).expand(*query_x.shape[:-1], 2))


def found(report: Report) -> dict[str, str]:
    return {check.question: check.verdict for check in report.checks}


@pytest.mark.parametrize(("predictor", "prior"), [(ExactGP(GP), GP), (ExactBetaBernoulli(COINS), COINS)])
def test_an_exact_posterior_is_good(predictor, prior):
    report = pf.verify(predictor, prior, context_sizes=[0, 8], num_datasets=500)
    assert set(found(report).values()) == {"good", "not checked"}
    assert report.verdict == "good"
    assert found(report)["trained range"] == "not checked"


@pytest.mark.parametrize("fault", ["narrow", "wide", "shift"])
def test_wrong_distributions_are_found(fault):
    verdicts = found(pf.verify(Spoiled(fault), GP, context_sizes=[0, 8], num_datasets=500))
    for n in (0, 8):
        assert verdicts[f"PIT at n = {n}"] == "bad"
        assert verdicts[f"gap to exact at n = {n}"] in {"doubtful", "bad"}
        assert fault == "shift" or verdicts[f"coverage at n = {n}"] == "bad"


@pytest.mark.parametrize(
    ("fault", "question"),
    [("order", "order of the context"), ("batch", "other datasets of the batch"), ("queries", "other queries")],
)
def test_what_must_not_matter_is_found_where_it_does(fault, question):
    verdicts = found(pf.verify(Spoiled(fault), GP, context_sizes=[8], num_datasets=100))
    assert verdicts[question] == "bad"


@pytest.mark.parametrize(
    ("fault", "question", "words"),
    [
        ("narrow", "PIT", "The predictions are too narrow. Train longer"),
        ("wide", "PIT", "The predictions are too wide."),
        ("shift", "PIT", "The targets come lower than they are predicted."),
        ("narrow", "coverage", "The intervals are too narrow. Train longer"),
        ("wide", "coverage", "The intervals are too wide."),
    ],
)
def test_a_fault_is_named_in_words(fault, question, words):
    checks = pf.verify(Spoiled(fault), GP, context_sizes=[8], num_datasets=500).checks
    (check,) = (check for check in checks if check.question == f"{question} at n = 8")
    assert words in check.words


@pytest.mark.usefixtures("few_surprises")
def test_inputs_beyond_the_trained_range_are_found():
    model = pf.train(tiny_recipe(steps=2))
    wider = pf.GaussianProcess(inputs=pf.UniformInputs(-1.0, 1.0))
    with pytest.warns(OutsideTrainingWarning):
        assert found(pf.verify(model, wider, num_datasets=20))["range of the inputs"] == "bad"
    assert found(pf.verify(model, num_datasets=20))["range of the inputs"] == "good"


def test_overconfident_classes_are_found():
    report = pf.verify(Overconfident(), COINS, context_sizes=[3], num_datasets=500)
    verdicts = found(report)
    assert "The model is too sure." in str(report)
    assert verdicts["calibration at n = 3"] == "bad"
    assert verdicts["PIT at n = 3"] == "bad"


@pytest.mark.usefixtures("few_surprises")
def test_a_model_brings_its_prior_and_its_range():
    model = pf.train(tiny_recipe(steps=2))
    report = pf.verify(model, num_datasets=50)
    assert report.prior == "GaussianProcess"
    assert report.context_sizes == (0, 2, 4, 7)
    assert found(report)["trained range"] == "good"
    with pytest.warns(OutsideTrainingWarning):
        assert found(pf.verify(model, context_sizes=[50], num_datasets=50))["trained range"] == "bad"


def test_a_predictor_without_a_card_needs_a_prior():
    with pytest.raises(
        InputError, match=r"ExactGP does not say which prior it is for; pass it: verify\(model, prior\)"
    ):
        pf.verify(ExactGP(GP))
    with pytest.raises(InputError, match="whole numbers of at least 0"):
        pf.verify(ExactGP(GP), GP, context_sizes=[-1])


def test_the_report_is_text_json_and_one_page(tmp_path: Path):
    report = pf.verify(ExactGP(GP), GP, context_sizes=[0, 8], num_datasets=200)
    assert "gap to exact at n = 8" in str(report)
    report.save_json(tmp_path / "report.json")
    saved = json.loads((tmp_path / "report.json").read_text())
    assert saved["verdict"] == report.verdict
    assert [check["question"] for check in saved["checks"]] == list(found(report))
    save_page(report, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 6
    assert all(check.question in page for check in report.checks)


def test_each_line_ends_in_what_to_do():
    for report in (
        pf.verify(ExactGP(GP), GP, context_sizes=[0, 4], num_datasets=100),
        pf.verify(Spoiled("narrow"), GP, context_sizes=[0, 4], num_datasets=100),
    ):
        for check in report.checks:
            assert check.words.endswith("Nothing needs to be done.") == (check.verdict == "good"), check.words
            advice = check.words.split(". ")[-1].split(": ")[0]
            assert check.words.endswith(".")
            assert advice.split()[0] in {"Nothing", "Train", "Make", "If"}, check.words


@pytest.mark.usefixtures("few_surprises")
def test_a_prior_of_ones_own_is_called_by_its_name_and_has_no_exact_answer_only_once():
    @pf.prior(num_features=1, inputs=pf.UniformInputs())
    def slopes(x: torch.Tensor) -> torch.Tensor:
        return torch.randn(len(x), 1) * x[..., 0] + 0.1 * torch.randn(x.shape[:2])

    report = pf.verify(pf.train(tiny_recipe(steps=2)), slopes, num_datasets=20)
    assert report.prior == "slopes"
    assert str(report).count("No exact answer is known for slopes") == 1
    assert found(report)["gap to exact"] == "not checked"
    with pytest.raises(InputError, match=r"cannot be built from its card.*Pass it: verify\(model, prior\)"):
        pf.verify(pf.train(tiny_recipe(steps=2, prior=slopes)))


def test_the_name_of_a_released_model_is_enough():
    report = pf.verify("gp-rbf-1d", context_sizes=[3], num_datasets=50)
    assert report.name == "gp-rbf-1d"
    assert found(report)["surprise on data of the prior"] == "good"
    with pytest.raises(UnknownModelError, match="Did you mean 'gp-rbf-1d'"):
        pf.verify("gp-rbf-1")


@pytest.mark.usefixtures("as_users_run_it")
def test_what_is_no_model_is_refused():
    with pytest.raises(InputError, match="verify takes a model, the name of a released one"):
        pf.verify(3)  # pyright: ignore[reportArgumentType]


def test_the_tolerance_of_an_interval_is_that_of_its_level():
    """Three percent are little at the level 50 %, but more than half of what should lie outside of 95 %."""

    def verdict_of(shares: tuple[float, float]) -> str:
        half, most = (torch.special.ndtri(torch.tensor(0.5 + level / 2)) for level in (0.5, 0.95))
        counts = [round(20_000 * share) for share in shares]
        y = torch.full((20_000, 1), 9.0)
        y[: counts[1]], y[: counts[0]] = (half + most) / 2, 0.0
        tasks = Batch(torch.zeros(20_000, 0, 1), torch.zeros(20_000, 0), torch.zeros(20_000, 1, 1), y)
        return calibration_check(Examined(0, tasks, Normal(torch.zeros(20_000, 1), 1.0)), pf.Real(), 0).verdict

    assert verdict_of((0.50, 0.95)) == "good"
    assert verdict_of((0.53, 0.95)) == "doubtful"
    assert verdict_of((0.50, 0.92)) == "bad"


@dataclass(frozen=True)
class OtherAtGivenInputs(GaussianProcess):
    """A prior whose targets at given inputs are not those that come with its own."""

    def targets(self, x: torch.Tensor) -> torch.Tensor:
        return 10 * super().targets(x)


def test_a_prior_that_draws_other_targets_at_given_inputs_is_found():
    model, right = pf.load("gp-rbf-1d"), pf.GaussianProcess(lengthscale=0.6, noise=1e-4)
    assert surprise_check(model, OtherAtGivenInputs(lengthscale=0.6, noise=1e-4), 10, seed=0).verdict == "bad"
    assert surprise_check(model, right, 10, seed=0).verdict == "good"
    assert surprise_check(model, pf.Strokes(), 10, seed=0).verdict == "not checked"
