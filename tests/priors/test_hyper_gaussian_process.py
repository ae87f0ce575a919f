import pytest
import torch
from scipy.stats import gamma, kstest

from priorfit.description import build
from priorfit.errors import InputError
from priorfit.priors import PRIORS, GaussianProcess
from priorfit.priors.gaussian_process import cholesky
from priorfit.priors.hyper_gaussian_process import SMALLEST, Gamma, HyperGaussianProcess, Hyperparameters
from priorfit.seeding import seeded

PINNED = HyperGaussianProcess(
    num_features=2,
    lengthscale_prior=Gamma(4e12, 1e13),
    outputscale_prior=Gamma(2e12, 1e12),
    noise_prior=Gamma(1e11, 1e12),
)


def test_hyper_parameters_have_the_distributions_of_the_fields():
    prior = HyperGaussianProcess(noise_prior=Gamma(2.0, 5.0), noise_floor=0.5)
    with seeded(0):
        drawn = prior.hyperparameters(5_000)
    for values, concentration, rate in (
        (drawn.lengthscale, 3, 6),
        (drawn.outputscale, 2, 0.15),
        (drawn.noise - 0.5, 2, 5),
    ):
        assert values.dtype == torch.float64
        assert kstest(values.numpy(), gamma(concentration, scale=1 / rate).cdf).pvalue > 0.01


def test_the_log_density_of_a_gamma_equals_scipys():
    values = torch.tensor([1e-90, 1e-3, 2.0], dtype=torch.float64)
    expected = torch.from_numpy(gamma(1e-4, scale=1 / 3).logpdf(values.numpy()))
    torch.testing.assert_close(Gamma(1e-4, 3.0).log_prob(values), expected)


def test_the_default_noise_is_the_floor_but_for_about_one_dataset_in_750():
    with seeded(1):
        noise = HyperGaussianProcess().hyperparameters(400_000).noise
    share = float((noise > 2e-6).double().mean())
    assert noise.min() >= 1e-6
    assert abs(share - gamma.sf(1e-6, 1e-4)) < 4.5 * (share / 400_000) ** 0.5


def test_pinned_hyper_parameters_give_the_covariance_of_the_fixed_process():
    fixed = GaussianProcess(num_features=2, kernel="matern52", lengthscale=0.4, outputscale=2.0, noise=0.1 + 1e-6)
    with seeded(2):
        x = torch.rand(3, 6, 2)
        drawn = PINNED.hyperparameters(3)
    torch.testing.assert_close(drawn.noisy_covariance("matern52", x), fixed.noisy_covariance(x), rtol=0, atol=5e-5)


def test_each_dataset_has_hyper_parameters_of_its_own():
    """Given them, whitened targets are standard normal; the same ones for all datasets would not whiten them."""
    prior = HyperGaussianProcess(noise_prior=Gamma(2.0, 2.0))
    with seeded(3):
        hyperparameters = prior.hyperparameters(400)
    with seeded(3):
        x = torch.rand(400, 10, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        datasets = prior.draw(x)
    factor = cholesky(hyperparameters.noisy_covariance("matern52", x))
    white = torch.linalg.solve_triangular(factor, datasets.y[..., None], upper=False)
    assert kstest(white.flatten().numpy(), "norm").pvalue > 0.01
    assert len(hyperparameters.lengthscale.unique()) == 400


def test_the_variance_of_targets_is_that_of_outputscale_plus_noise():
    with seeded(4):
        y = HyperGaussianProcess(num_features=3, noise_prior=Gamma(2.0, 1.0)).sample(40_000, 1).y.double()
    expected = 2 / 0.15 + 2
    squares = y.square()
    assert abs(float(squares.mean()) - expected) < 4.5 * float(squares.std()) / 40_000**0.5


def test_five_thousand_datasets_of_fifty_points_are_drawn():
    with seeded(5):
        datasets = HyperGaussianProcess().sample(batch_size=5_000, num_points=50)
    assert datasets.y.isfinite().all()
    target = datasets.split(49).query_law
    assert target.mean.isfinite().all()
    assert target.stddev.min() >= 0.999e-3, "the floor is in every target"


@pytest.mark.parametrize("kernel", ["rbf", "matern12", "matern52"])
def test_the_most_extreme_draws_are_still_factorised(kernel):
    lengthscale = torch.tensor([SMALLEST, 1e-3, 5.0, 1e3], dtype=torch.float64)
    drawn = Hyperparameters(lengthscale, torch.full_like(lengthscale, 150.0), torch.full_like(lengthscale, 1e-6))
    with seeded(6):
        x = torch.rand(4, 100, 1).repeat(1, 2, 1)  # every input twice
    assert cholesky(drawn.noisy_covariance(kernel, x)).isfinite().all()


def test_gradients_flow_to_the_inputs():
    x = torch.rand(2, 4, 2, dtype=torch.float64, requires_grad=True)
    with seeded(7):
        drawn = HyperGaussianProcess().hyperparameters(2)
    assert torch.autograd.gradcheck(lambda x: drawn.noisy_covariance("matern52", x), (x,))


def test_a_recipe_names_a_gamma_by_its_fields_alone():
    description = {"type": "HyperGaussianProcess", "lengthscale_prior": {"concentration": 2, "rate": 8}}
    assert build(description, PRIORS) == HyperGaussianProcess(lengthscale_prior=Gamma(2.0, 8.0))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kernel": "rbff"}, "kernel must be one of rbf, matern12"),
        ({"num_features": 0}, "num_features must be at least 1"),
        ({"noise_floor": 0.0}, "noise_floor is a variance: positive"),
        ({"noise_floor": float("inf")}, "noise_floor of a HyperGaussianProcess must be finite"),
    ],
)
def test_wrong_fields_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        HyperGaussianProcess(**fields)


@pytest.mark.parametrize(("fields", "name"), [((0.0, 1.0), "concentration"), ((1.0, float("nan")), "rate")])
def test_a_gamma_needs_positive_parameters(fields, name):
    with pytest.raises(InputError, match=f"{name} of a Gamma must be (positive and )?finite"):
        Gamma(*fields)
