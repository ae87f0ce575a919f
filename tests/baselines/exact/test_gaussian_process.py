import warnings

import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from priorfit.baselines.exact.gaussian_process import ExactGP
from priorfit.predictor import predict
from priorfit.priors.gaussian_process import GaussianProcess
from priorfit.seeding import seeded

SHAPES = {
    "rbf": RBF(0.4),
    "matern12": Matern(0.4, nu=0.5),
    "matern32": Matern(0.4, nu=1.5),
    "matern52": Matern(0.4, nu=2.5),
}


@pytest.mark.parametrize("kernel", SHAPES)
def test_the_predictive_equals_scikit_learns(kernel):
    gp = GaussianProcess(num_features=2, kernel=kernel, lengthscale=0.4, outputscale=1.7, noise=1e-3)
    with seeded(0):
        batch = gp.draw(torch.rand(1, 40, 2, dtype=torch.float64)).split(30)
    reference = GaussianProcessRegressor(ConstantKernel(1.7) * SHAPES[kernel], alpha=1e-3, optimizer=None)
    reference.fit(batch.context_x[0].numpy(), batch.context_y[0].numpy())
    mean, std = reference.predict(batch.query_x[0].numpy(), return_std=True)
    ppd = predict(ExactGP(gp), batch)
    torch.testing.assert_close(ppd.mean[0], torch.from_numpy(mean), rtol=0, atol=1e-8)
    torch.testing.assert_close(ppd.variance[0], torch.from_numpy(std**2 + 1e-3), rtol=0, atol=1e-8)


@pytest.mark.parametrize(("kernel", "nu"), [("rbf", None), ("matern12", 0.5), ("matern32", 1.5), ("matern52", 2.5)])
def test_the_predictive_equals_gpytorchs(kernel, nu):
    with warnings.catch_warnings():
        # linear_operator, below GPyTorch, is compiled by what torch now calls deprecated
        warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated", DeprecationWarning)
        import gpytorch
    gp = GaussianProcess(num_features=2, kernel=kernel, lengthscale=0.4, outputscale=1.7, noise=1e-3)
    with seeded(0):
        batch = gp.draw(torch.rand(1, 40, 2, dtype=torch.float64)).split(30)
    shape = gpytorch.kernels.RBFKernel() if nu is None else gpytorch.kernels.MaternKernel(nu=nu)
    covariance = gpytorch.kernels.ScaleKernel(shape).double()
    shape.lengthscale, covariance.outputscale = torch.tensor([0.4, 1.7], dtype=torch.float64)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = torch.tensor(1e-3, dtype=torch.float64)

    class Reference(gpytorch.models.ExactGP):
        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(x.new_zeros(len(x)), covariance(x))

    reference = Reference(batch.context_x[0], batch.context_y[0], likelihood).eval()
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        expected = likelihood.eval()(reference(batch.query_x[0]))
    ppd = predict(ExactGP(gp), batch)
    torch.testing.assert_close(ppd.mean[0], expected.mean, rtol=0, atol=1e-8)
    torch.testing.assert_close(ppd.variance[0], expected.variance, rtol=0, atol=1e-8)


def test_the_predictive_equals_the_conditional_of_the_draw():
    gp = GaussianProcess(num_features=3, lengthscale=0.5, noise=1e-4)
    with seeded(1):
        batch = gp.draw(torch.rand(4, 30, 3, dtype=torch.float64)).split(17)
    ppd = predict(ExactGP(gp), batch)
    torch.testing.assert_close(ppd.mean, batch.query_law.mean, rtol=0, atol=1e-8)
    torch.testing.assert_close(ppd.stddev, batch.query_law.stddev, rtol=0, atol=1e-8)


def test_gradients_flow_to_queries_and_context():
    gp = GaussianProcess(num_features=2, noise=1e-2)
    with seeded(2):
        batch = gp.draw(torch.rand(2, 7, 2, dtype=torch.float64)).split(4)
    inputs = tuple(t.detach().clone().requires_grad_() for t in (batch.context_x, batch.context_y, batch.query_x))

    def log_density(context_x, context_y, query_x):
        return ExactGP(gp).condition(context_x, context_y).predict(query_x).log_prob(batch.query_y)

    assert torch.autograd.gradcheck(log_density, inputs)
