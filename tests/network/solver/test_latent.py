import math

import pytest
import torch
from torch.distributions import MultivariateNormal

import priorfit as pf
from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.network import PFN, Harmonics, LatentSolver, NetworkSettings, NormalHead, NormalMixtureHead, Problem
from priorfit.network.encoders.inputs import LinearEncoder
from priorfit.network.solver.choice import FARTHEST
from priorfit.network.solver.families import FIRST_SLOPES, FIRST_VALUES, PACE, spread_out
from priorfit.network.solver.latent import LatentRegression
from priorfit.network.solver.statistics import statistics_of
from priorfit.priors.kernels import KERNELS, distances
from priorfit.seeding import seeded
from priorfit.training import Budget, DataSettings, OptimiserSettings, Recipe, train

SETTINGS = LatentSolver(Harmonics(6), anchors=5, nodes=4)
PROBLEM = Problem(1, Real(), (0.0, 1.0))


def built(settings: LatentSolver = SETTINGS) -> LatentRegression:
    with seeded(0):
        found = settings.build(PROBLEM, LinearEncoder())
        assert isinstance(found, LatentRegression)
        for parameter in found.parameters():  # as after training: nothing is zero
            torch.nn.init.normal_(parameter, parameter.mean().item(), 0.1)
    return found


def network_of(settings: NetworkSettings) -> PFN:
    with seeded(0):
        return settings.build(PROBLEM, target_sample=torch.randn(4, 50))


def drawn(points: int = 6) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    with seeded(1):
        return torch.rand(3, points, 1), torch.randn(3, points), torch.rand(3, 4, 1)


def law_of(solver: LatentRegression, x: torch.Tensor, latents: torch.Tensor) -> MultivariateNormal:
    """The joint distribution of targets given latents, written out."""
    log_gain, log_noise = (part.double() for part in solver.family(latents)[:2])
    functions = (
        solver.basis(x).double()[:, None] * (log_gain + log_noise).exp()[:, :, None]
    )  # (batch, regressions, points, F)
    noise = (2 * log_noise).exp()[..., None] * torch.eye(x.shape[1], dtype=torch.float64)
    covariance = functions @ functions.mT + noise
    return MultivariateNormal(torch.zeros(x.shape[1], dtype=torch.float64), covariance)


def test_the_evidence_is_the_density_of_the_context_under_the_anchors():
    solver, (x, y, _) = built(), drawn()
    density = law_of(solver, x, solver.anchors[None]).log_prob(y.double()[:, None]).logsumexp(1)
    constant = 0.5 * x.shape[1] * math.log(2 * math.pi) - math.log(5)
    torch.testing.assert_close(solver.condition(x, y).log_evidence, density + constant, rtol=1e-4, atol=1e-4)


def test_regressions_are_weighted_by_prior_and_evidence_over_the_density_of_their_choice():
    solver, (x, y, _) = built(), drawn()
    nodes = solver.condition(x, y).nodes
    evidence = law_of(solver, x, nodes.latents).log_prob(y.double()[:, None])
    hidden = torch.tanh(solver.family.hidden(nodes.latents.float()))
    learned = PACE * (hidden @ solver.family.log_prior.weight[0] + solver.family.log_prior.bias)
    prior = learned.double() - 0.5 * nodes.latents.double().square().sum(-1)
    choice = -0.5 * solver.offsets.square().sum(-1) - solver.log_shares
    expected = (evidence + prior - choice).log_softmax(1)
    torch.testing.assert_close(nodes.log_weights, expected, rtol=1e-4, atol=1e-4)


def test_an_untouched_network_answers_with_the_mixture_of_its_regressions():
    model = network_of(NetworkSettings(width=16, layers=0, solver=SETTINGS)).frozen()
    x, y, query = drawn()
    assert isinstance(model.solver, LatentRegression)
    units = model.scaling(y)
    nodes = model.solver.condition(x, units.to_model(y)).nodes
    both = torch.cat([x, query], 1)
    covariance = law_of(model.solver, both, nodes.latents).covariance_matrix  # (batch, regressions, 10, 10)
    inner, cross = covariance[..., :6, :6], covariance[..., 6:, :6]
    gain = cross @ torch.linalg.inv(inner)
    mean = (gain @ units.to_model(y).double()[:, None, :, None])[..., 0]
    variance = covariance.diagonal(dim1=-2, dim2=-1)[..., 6:] - (gain * cross).sum(-1)
    weights = nodes.log_weights.exp()[..., None]
    location = (weights * mean).sum(1)
    spread = (weights * (variance + (mean - location[:, None]).square())).sum(1).sqrt()
    ppd = model.condition(x, y).predict(query)
    torch.testing.assert_close(ppd.mean, units.shift + units.scale * location.float(), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(ppd.stddev, units.scale * spread.float(), rtol=1e-3, atol=1e-4)


def test_many_regressions_integrate_the_posterior_of_the_latents():
    solver, (x, _, query) = built(), drawn()
    with torch.no_grad(), seeded(2):
        solver.family.output.bias[-1] = math.log(0.3) / PACE
        y = law_of(solver, x, torch.randn(3, 1, 2)).sample()[:, 0].float()
        solver.offsets = torch.nn.Parameter(spread_out(2048, 2))
        solver.log_shares = torch.nn.Parameter(torch.zeros(2048))
        guess = solver.condition(x, y).predict(query).ppd
        latents = spread_out(2048, 2)[None]  # the same by draws of the prior, weighted by their evidence alone
        prior = solver.family(latents)[2] + 0.5 * latents.double().square().sum(-1)  # what is not the draws' own
        evidence = (law_of(solver, x, latents).log_prob(y.double()[:, None]) + prior).softmax(1)
        expected = (evidence[..., None] * conditional_mean(solver, x, y, query, latents)).sum(1)
    torch.testing.assert_close(guess.mean, expected, rtol=0, atol=0.02)


def conditional_mean(
    solver: LatentRegression, x: torch.Tensor, y: torch.Tensor, query: torch.Tensor, latents: torch.Tensor
) -> torch.Tensor:
    covariance = law_of(solver, torch.cat([x, query], 1), latents).covariance_matrix
    points = x.shape[1]
    solved = torch.linalg.solve(covariance[..., :points, :points], y.double()[:, None, :, None])
    return (covariance[..., points:, :points] @ solved)[..., 0]


def test_it_learns_the_family_of_a_prior_with_latents():
    prior = pf.HyperGaussianProcess(noise_floor=1e-2)
    network = NetworkSettings(width=16, layers=0, solver=LatentSolver(Harmonics(12)))
    optimiser, data = OptimiserSettings(learning_rate=5e-3), DataSettings(batch_size=16)
    with seeded(3):
        tasks = prior.sample(30, 16).split(12)
    truth = pf.metrics.nll(pf.baselines.HyperGPOracle(prior, 500), tasks).mean
    gaps = []
    for steps in (1, 60):
        model = train(Recipe(prior, 16, data=data, budget=Budget(steps=steps), network=network, optimiser=optimiser))
        gaps.append(pf.metrics.nll(model, tasks).mean - truth)
    assert gaps[1] < gaps[0] / 10


@pytest.mark.parametrize("latents", [1, 2, 3])
def test_anchors_cover_the_prior_of_the_latents(latents):
    anchors = spread_out(400, latents)
    torch.testing.assert_close(anchors.mean(0), torch.zeros(latents), atol=0.05, rtol=0)
    torch.testing.assert_close(anchors.std(0), torch.ones(latents), atol=0.1, rtol=0)
    solver = built(LatentSolver(Harmonics(3), latents=latents))
    x, y, query = drawn()
    assert solver.condition(x, y).predict(query).features.shape == (3, 4, 3 * 7 + 2)


def test_impossible_settings_are_refused():
    with pytest.raises(InputError, match="must be at least 1, evidence_weight at least 0; got LatentSolver"):
        LatentSolver(anchors=0)
    with pytest.raises(InputError, match="is corrected by CorrectedMixtureHead.*Leave network.output out"):
        NetworkSettings(output=NormalHead(), solver=SETTINGS).build(PROBLEM)
    NetworkSettings(output=NormalMixtureHead(4), solver=SETTINGS).build(PROBLEM)
    with pytest.raises(InputError, match="is for real targets"):
        NetworkSettings(solver=SETTINGS).build(Problem(1, Classes(2), (0.0, 1.0)))
    with pytest.raises(InputError, match="inputs of a known range"):
        NetworkSettings(solver=SETTINGS).build(Problem(1, Real(), None))


def test_a_saved_network_comes_back(tmp_path):
    model = network_of(NetworkSettings(width=16, layers=0, solver=SETTINGS)).frozen()
    model.save(tmp_path / "model")
    x, y, query = drawn()
    before, after = (each.condition(x, y).predict(query) for each in (model, pf.load(tmp_path / "model")))
    assert torch.equal(before.mean, after.mean) and torch.equal(before.stddev, after.stddev)


def test_the_choice_tells_contexts_apart_that_one_anchor_explains_best():
    """Softmax weights alone cannot: they are one and zeros for both."""
    solver = built()
    y = statistics_of(torch.rand(1, 4, 13), torch.full((1, 4), 2.0))
    near, far = (torch.tensor([[0.0, -gap, -gap, -gap, -gap]], dtype=torch.float64) for gap in (1e4, 1e6))
    latents = [solver._chosen(evidence, y, solver._fixed()) for evidence in (near, far)]
    assert (latents[0] - latents[1]).abs().max() > 1e-3


def test_nodes_may_leave_the_hull_of_the_anchors_but_not_without_bound():
    solver, (x, y, _) = built(), drawn()
    with torch.no_grad():
        solver.offsets.zero_()  # all nodes in the middle
        middles = []
        for shift in (2.0, 1e3):
            solver.chooser.get_parameter("2.bias")[:2] = shift
            middles.append(solver.condition(x, y).nodes.latents)
    assert (middles[0] > solver.anchors.amax(0) + 0.2).all()
    assert (middles[1] <= FARTHEST).all()


def test_before_training_the_kernels_are_those_of_matern():
    """With many waves over a long period the family's prior is the kernel; a constant counts once, a wave twice."""
    with seeded(0):
        settings = LatentSolver(Harmonics(400, period=8.0), latents=3)
        solver = settings.build(PROBLEM, LinearEncoder())
    family = solver.family
    for parameter in family.output.parameters():
        torch.nn.init.zeros_(parameter)
    x = torch.linspace(0, 1, 6)[None, :, None]
    latents = torch.tensor([[[0.5, -1.0, 0.0]]])
    log_gain, _, _ = family(latents)
    functions = solver.basis(x).double() * log_gain[0].exp()
    functions[..., 0] *= 0.5**0.5
    covariance = (functions @ functions.mT)[0]
    lengthscale = 5**0.5 * math.exp(FIRST_VALUES[1] - FIRST_SLOPES[1]) / 2  # of x: the unit range is twice as long
    expected = KERNELS["matern52"](distances(x[0].double(), x[0].double()) / lengthscale)
    torch.testing.assert_close(covariance / covariance[0, 0], expected, rtol=0, atol=0.02)


def test_the_third_latent_adds_noise_and_the_family_stays_bounded_far_away():
    with seeded(0):
        settings = LatentSolver(Harmonics(6), latents=3)
        family = settings.build(PROBLEM, LinearEncoder()).family
    with torch.no_grad():
        noise = family(torch.tensor([[[0.0, 0.0, each] for each in (-9.0, 0.0, 2.0, 4.0)]]))[1][0, :, 0]
        log_gain, log_noise, _ = family(torch.tensor([[[0.0, each, 0.0] for each in (-9.0, 0.0, 9.0)]]))
        gains = (log_gain + log_noise)[0]
    assert (noise.diff() > 0).all()
    assert gains.isfinite().all()
    total = (2 * gains).logsumexp(-1)
    assert total.max() - total.min() < 1, "a lengthscale moves the gains between waves, not their sum of squares"


def test_scale_over_noise_is_bounded_so_that_near_duplicates_can_be_solved():
    settings = LatentSolver(Harmonics(6), latents=3)
    solver = settings.build(PROBLEM, LinearEncoder())
    with torch.no_grad():
        solver.family.start[0] = 30.0  # a scale of e^60
        log_gain, _, _ = solver.family(torch.zeros(1, 1, 3))
        assert log_gain.max() < 12.1
        x = torch.tensor([0.5, 0.5, 0.5 + 1e-7, 0.9])[None, :, None]
        guess = solver.condition(x, torch.tensor([[1.0, -1.0, 2.0, 0.0]])).predict(x)
    assert guess.features.isfinite().all()
