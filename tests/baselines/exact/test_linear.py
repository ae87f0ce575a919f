import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct

from priorfit.baselines import ExactLinear
from priorfit.predictor import predict
from priorfit.priors import LinearRegression
from priorfit.seeding import seeded


def test_the_predictive_equals_that_of_scikit_learns_gp_with_a_linear_kernel():
    prior = LinearRegression(num_features=3, weight_scale=1.5, noise=0.04)
    with seeded(0):
        batch = prior.draw(torch.randn(1, 25, 3, dtype=torch.float64)).split(15)
    kernel = ConstantKernel(1.5**2) * DotProduct(sigma_0=0.0, sigma_0_bounds="fixed")
    reference = GaussianProcessRegressor(kernel, alpha=0.04, optimizer=None)
    reference.fit(batch.context_x[0].numpy(), batch.context_y[0].numpy())
    mean, std = reference.predict(batch.query_x[0].numpy(), return_std=True)
    ppd = predict(ExactLinear(prior), batch)
    torch.testing.assert_close(ppd.mean[0], torch.from_numpy(mean), rtol=0, atol=1e-8)
    torch.testing.assert_close(ppd.variance[0], torch.from_numpy(std**2 + 0.04), rtol=0, atol=1e-8)


def test_gradients_flow_to_queries_and_context():
    prior = LinearRegression(num_features=2)
    with seeded(1):
        batch = prior.draw(torch.randn(2, 6, 2, dtype=torch.float64)).split(3)
    inputs = tuple(t.detach().clone().requires_grad_() for t in (batch.context_x, batch.context_y, batch.query_x))

    def log_density(context_x, context_y, query_x):
        return ExactLinear(prior).condition(context_x, context_y).predict(query_x).log_prob(batch.query_y)

    assert torch.autograd.gradcheck(log_density, inputs)
