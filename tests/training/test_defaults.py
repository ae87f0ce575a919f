from dataclasses import replace

import pytest
import torch

import priorfit as pf
from priorfit.network import ClassSolver, LatentSolver, LinearSolver, NetworkSettings, SolverSettings
from priorfit.training.defaults import MOST_COMPONENTS, candidates, default_data, suggested_network

GP, HYPER, LINES = pf.GaussianProcess(), pf.HyperGaussianProcess(), pf.LinearRegression()
FIVE, UNBOUNDED = pf.HyperGaussianProcess(num_features=5), pf.HyperGaussianProcess(inputs=pf.NormalInputs())
LABELS = pf.BayesianNetwork(outcome=pf.Classes(2))


@pf.prior(num_features=1)
def waves(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x[..., 0] * torch.rand(len(x), 1) * 9)


KNOWN: dict[str, tuple[pf.Prior, SolverSettings]] = {
    "GP": (pf.GaussianProcess(lengthscale=0.1), LinearSolver(64, 1, 128)),
    "lines": (LINES, LinearSolver(64, 1, 128)),
    "hyper-priors": (HYPER, LatentSolver(latents=2)),
    "hyper-priors, five features": (FIVE, LinearSolver(64, 4, 128)),
    "hyper-priors, no range": (UNBOUNDED, LinearSolver(64, 4, 128)),
    "labels of a linear network": (LABELS, LinearSolver(16, 4, 32)),
    "three classes of a linear network": (replace(LABELS, outcome=pf.Classes(3)), ClassSolver(16, 2, 64)),
    "two GPs": (pf.Mixture([GP, pf.GaussianProcess(kernel="matern12")]), LatentSolver(latents=2)),
    "two GPs of five features": (
        pf.Mixture([pf.GaussianProcess(5), pf.GaussianProcess(5, kernel="matern12")]),
        LinearSolver(64, 2, 128),
    ),
    "a GP and a line": (
        pf.Mixture([GP, pf.LinearRegression(inputs=pf.UniformInputs())], weights=[0.3, 0.7]),
        LinearSolver(64, 2, 128),
    ),
    "two mixtures": (pf.Mixture([pf.Mixture([GP, GP]), GP]), LatentSolver(latents=2)),
    "many GPs of five features": (pf.Mixture([pf.GaussianProcess(5)] * 20), LinearSolver(64, MOST_COMPONENTS, 128)),
    "standardised GP": (pf.Standardized(GP), LatentSolver(latents=2)),
    "standardised GP of five features": (pf.Standardized(pf.GaussianProcess(num_features=5)), LinearSolver(64, 4, 128)),
    "standardised line": (pf.Standardized(LINES), LinearSolver(64, 4, 128)),
    "standardised hyper-priors": (pf.Standardized(HYPER), LatentSolver(latents=2)),
    "labels of a GP": (pf.Binarized(GP), LinearSolver(16, 4, 32)),
    "padded GP": (pf.PaddedFeatures(pf.GaussianProcess(num_features=3), 3), LinearSolver(64, 4, 128)),
    "tables": (
        pf.PaddedFeatures(pf.Standardized(pf.WeightedFeatures(pf.Mixture([GP] * 6))), 3),
        LinearSolver(64, 6, 128),
    ),
    "tables of labels": (
        pf.PaddedFeatures(pf.Binarized(pf.WeightedFeatures(pf.Mixture([FIVE, FIVE]))), 5),
        LinearSolver(16, 8, 32),
    ),
}


@pytest.mark.parametrize(("prior", "solver"), KNOWN.values(), ids=KNOWN.keys())
def test_a_known_prior_gets_the_solver_of_its_family(prior: pf.Prior, solver: SolverSettings):
    network = suggested_network(prior)
    assert network is not None and network.solver == solver
    assert network.layers == (2 if isinstance(solver, LatentSolver) else 6)


@pytest.mark.parametrize(("prior", "solver"), KNOWN.values(), ids=KNOWN.keys())
def test_what_is_suggested_can_be_built_and_trained(prior: pf.Prior, solver: SolverSettings):
    network = suggested_network(prior)
    assert network is not None
    small = replace(network, width=16, layers=1, attention_heads=2, feedforward=16)
    with pf.seeded(0):
        problem = pf.Problem(prior.num_features, prior.outcome, prior.inputs.range)
        model = small.build(problem, target_sample=prior.sample(16, 20).y)
        loss = model.loss(replace(prior.sample(4, 9).split(5), query_law=None)).sum()
    loss.backward()
    assert loss.isfinite() and all(w.grad is not None and w.grad.isfinite().all() for w in model.parameters())


UNKNOWN = {
    "a function": waves,
    "coins": pf.BetaBernoulli(),
    "strokes": pf.Strokes(),
    "a network with an activation": replace(LABELS, activation="tanh"),
    "networks of any shape": pf.BayesianNetwork(architecture=pf.ArchitecturePrior()),
    "a GP and a function": pf.Mixture([GP, waves]),
    "a standardised function": pf.Standardized(waves),
    "a padded function": pf.PaddedFeatures(waves, 1),
}


@pytest.mark.parametrize("prior", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_of_other_priors_nothing_is_known(prior: pf.Prior):
    assert suggested_network(prior) is None


@pytest.mark.parametrize("prior", [*UNKNOWN.values(), *(prior for prior, _ in KNOWN.values())])
def test_every_prior_has_a_plain_transformer_and_a_solver_among_its_candidates(prior: pf.Prior):
    found = candidates(prior)
    assert found["plain transformer"] == NetworkSettings()
    is_ranged_line = prior.num_features == 1 and prior.inputs.range is not None and prior.outcome == pf.Real()
    assert set(found) == {"plain transformer", "linear solver"} | ({"latent solver"} if is_ranged_line else set())
    for settings in found.values():
        settings.build(pf.Problem(prior.num_features, prior.outcome, prior.inputs.range))


def test_a_plain_transformer_sees_several_n_in_a_step():
    plain, solving = (default_data(NetworkSettings(solver=solver), "sampled") for solver in (None, LinearSolver()))
    assert (plain.micro_batches, plain.same_n) == (4, False)
    assert (solving.micro_batches, solving.same_n) == (1, True)
    assert plain.batch_size * plain.micro_batches == solving.batch_size
