import itertools
from dataclasses import dataclass

import pytest
import torch

from priorfit.data import Classes, Datasets, Real
from priorfit.errors import InputError, PriorError
from priorfit.priors import GaussianProcess, Prior, UniformInputs
from priorfit.priors.checks import check_prior
from priorfit.priors.function import prior
from priorfit.seeding import seeded


def noise(x, scale):
    return scale * torch.randn(x.shape[:2])


def shared_wave(x):
    return torch.sin(10 * torch.rand(()) * x[..., 0])


def shared_wave_in_noise(x):
    return shared_wave(x) + noise(x, 3.0)


def shared_amplitude(x):
    return torch.randn(()).exp() * torch.randn(len(x), 1) * x[..., 0] + noise(x, 0.1)


def shared_frequency(x):
    phase = 6.28 * torch.rand(len(x), 1)
    return torch.sin((2 + 20 * torch.rand(())) * x[..., 0] + phase) + noise(x, 0.1)


def shared_noise_level(x):
    return torch.randn(len(x), 1) * x[..., 0] + noise(x, torch.randn(()).exp())


def shared_by_two_halves(x):
    return torch.randn(2, 1)[2 * torch.arange(len(x)) // len(x)] * x[..., 0] + noise(x, 0.3)


PITFALLS = [
    shared_wave,
    shared_wave_in_noise,
    shared_amplitude,
    shared_frequency,
    shared_noise_level,
    shared_by_two_halves,
]


@pytest.mark.parametrize("function", PITFALLS)
@pytest.mark.parametrize("seed", range(3))
def test_latents_shared_by_a_batch_are_found(function, seed):
    with pytest.raises(PriorError, match="datasets of one batch are alike"):
        check_prior(prior(num_features=1)(function), seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_a_shared_probability_of_labels_is_found(seed):
    labels = prior(num_features=1, outcome=Classes(2))(lambda x: torch.rand(x.shape[:2]) < torch.rand(()))
    with pytest.raises(PriorError, match="datasets of one batch are alike"):
        check_prior(labels, seed=seed)


def test_a_report_reads_well_and_tells_the_moments():
    report = check_prior(GaussianProcess(outputscale=4.0), num_points=10)
    assert 1.5 < report.std < 2.5
    assert report.low < report.mean < report.high
    assert report.offers_expected_targets
    assert "no fault found in 1600 datasets of 10 points" in str(report)
    assert "expected targets: yes" in str(report)


def test_checking_leaves_the_generators_as_they_were():
    with seeded(0):
        check_prior(GaussianProcess(), num_points=5)
        after = torch.rand(1)
    with seeded(0):
        assert torch.equal(after, torch.rand(1))


def test_the_faults_of_a_function_are_told():
    with pytest.raises(PriorError, match=r"prior <lambda>:\n  - .* got \(64, 32, 1\)"):
        check_prior(prior(num_features=1)(lambda x: x))


@dataclass(frozen=True)
class Faulty(Prior):
    """Draws what it is told."""

    draws: object
    num_features: int = 1
    inputs: UniformInputs = UniformInputs()
    outcome: Real | Classes = Real()
    offers_expected: bool = False

    def draw(self, x):
        return self.draws(x)


counter = itertools.count()


def unrepeatable(x):
    return Datasets(x, torch.randn(x.shape[:2]) + next(counter))


@pytest.mark.parametrize(
    ("draws", "outcome", "message"),
    [
        (lambda x: Datasets(x, torch.randn(x.shape[:2]).log()), Real(), "of the targets are NaN or infinite"),
        (lambda x: Datasets(x / 0, torch.randn(x.shape[:2])), Real(), "100.0% of the inputs are NaN or infinite"),
        (lambda x: Datasets(x, torch.randint(0, 9, x.shape[:2])), Real(), "dtype of the inputs, torch.float32; got"),
        (lambda x: Datasets(x[:, 1:], torch.randn(x[:, 1:, 0].shape)), Real(), r"= \(64, 32\); got \(64, 31\)"),
        (lambda x: Datasets(x, torch.randn(len(x), 1).expand(x.shape[:2])), Real(), "constant within every dataset"),
        (lambda x: Datasets(x, x[..., 0]), Real(), "the prior draws nothing"),
        (lambda x: Datasets(x, torch.randint(0, 3, x.shape[:2]).float()), Classes(2), r"labels 0 ... 1 .* got 2"),
        (unrepeatable, Real(), "the same seed gives different datasets"),
        (
            lambda x: Datasets(x, y := torch.randn(x.shape[:2]), lambda n: torch.distributions.Normal(y, 1.0)),
            Real(),
            r"offers_expected is False(.|\n)*conditional of n = 16 must have batch shape \(64, 16\); got \(64, 32\)",
        ),
    ],
)
def test_each_fault_of_a_prior_is_told(draws, outcome, message):
    with pytest.raises(PriorError, match=message):
        check_prior(Faulty(draws, outcome=outcome))


def test_all_faults_are_listed_at_once():
    faulty = Faulty(lambda x: Datasets(x / 0, torch.full(x.shape[:2], 0.5)), outcome=Classes(2))
    with pytest.raises(PriorError) as caught:
        check_prior(faulty)
    assert str(caught.value).count("\n  - ") == 3


def test_too_few_draws_are_refused():
    with pytest.raises(InputError, match="to tell chance from fault, and seed >= 0; got 32, 64, 2 and 0"):
        check_prior(GaussianProcess(), num_batches=2)
