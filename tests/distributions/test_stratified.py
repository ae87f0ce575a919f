import torch
from torch.distributions import Normal

from priorfit.distributions import NormalMixture, expected_log_prob, stratified_log_prob
from priorfit.seeding import seeded


def spiky(batch: int) -> NormalMixture:
    """Ten narrow peaks: what fixed nodes would reward."""
    shape = (batch, 10)
    return NormalMixture(torch.zeros(shape), torch.linspace(-1, 1, 10).expand(shape), torch.full(shape, 0.05))


def test_the_mean_over_draws_is_the_expectation_even_of_spikes():
    target = Normal(torch.full((4_000,), 0.3, dtype=torch.float64), torch.full((4_000,), 0.4, dtype=torch.float64))
    with seeded(0):
        estimates = stratified_log_prob(spiky(4_000), target, target.sample())
    exact = expected_log_prob(spiky(1), Normal(target.loc[:1], target.scale[:1]), 4_000)
    error = estimates.std() / 4_000**0.5
    assert (estimates.mean() - exact[0]).abs() < 4 * error


def test_it_varies_less_than_the_log_density_of_the_draw():
    target, ppd = Normal(torch.zeros(2_000), 1.0), Normal(torch.full((2_000,), 0.2), 1.1)
    with seeded(1):
        drawn = target.sample()
    assert stratified_log_prob(ppd, target, drawn).std() < 0.2 * ppd.log_prob(drawn).std()


def test_a_point_mass_gives_the_log_density_there_and_finite_gradients():
    logits = torch.zeros(5, 10, requires_grad=True)
    mixture = spiky(5)
    ppd = NormalMixture(logits, mixture.loc, mixture.scale)
    target = Normal(torch.full((5,), 0.1), torch.zeros(5), validate_args=False)
    estimate = stratified_log_prob(ppd, target, target.loc)
    torch.testing.assert_close(estimate, ppd.log_prob(target.loc))
    estimate.sum().backward()
    assert logits.grad.isfinite().all()
