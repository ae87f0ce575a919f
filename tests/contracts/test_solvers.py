"""What every solver must do."""

import pytest
import torch
from contracts.solvers import SOLVERS, Case
from torch.distributions import Categorical, Distribution, Normal
from torch.special import ndtr

from priorfit.data import Classes
from priorfit.distributions import NormalMixture
from priorfit.network import FirstGuess, NetworkSettings, Solver
from priorfit.network.solver.cells import CellRegression
from priorfit.network.solver.class_regression import IndicatorRegression
from priorfit.network.solver.features import FeatureSolver
from priorfit.network.solver.gaussian import solve
from priorfit.network.solver.kernel import JointKernels, KernelRegression, Regressions
from priorfit.network.solver.kernel_family import noisy
from priorfit.network.solver.latent import LatentRegression
from priorfit.network.solver.regressions import solved as solved_in_cells
from priorfit.network.solver.steps import StepRegression
from priorfit.seeding import seeded

every_solver = pytest.mark.parametrize("case", SOLVERS.values(), ids=SOLVERS.keys())
every_size = pytest.mark.parametrize("points", [0, 1, 8, 30])


def numbers(ppd: Distribution) -> torch.Tensor:
    """Log probabilities of the classes, or mean and log standard deviation."""
    return ppd.logits if isinstance(ppd, Categorical) else torch.stack([ppd.mean, ppd.stddev.log()], dim=-1)


def assert_same(one: FirstGuess, other: FirstGuess, atol: float = 1e-5) -> None:
    torch.testing.assert_close(numbers(one.ppd), numbers(other.ppd), atol=atol, rtol=1e-4)
    torch.testing.assert_close(one.features, other.features, atol=10 * atol, rtol=1e-4)


@every_solver
@every_size
def test_a_guess_is_a_distribution_of_each_point_and_finite_features(case: Case, points: int):
    solver, (x, y, query) = case.built(), case.contexts(points)
    solved = solver.condition(x, y)
    for guess, size in ((solved.predict(query), 5), (solved.leave_one_out(), points)):
        assert isinstance(guess.ppd, Normal | NormalMixture | Categorical)
        assert guess.ppd.batch_shape == (3, size)
        assert guess.features.shape == (3, size, solver.num_numbers)
        assert guess.features.dtype == torch.float32
        assert numbers(guess.ppd).isfinite().all() and guess.features.isfinite().all()
    assert solved.leave_one_out().surprise(y).abs().le(1).all()
    assert solved.log_evidence.shape == (3,) and solved.log_evidence.isfinite().all()


@every_solver
def test_extreme_targets_and_inputs_give_finite_features(case: Case):
    solver, (x, y, query) = case.built(), case.contexts(30)
    y = (x[..., 0] > 0.5).float() if isinstance(case.outcome, Classes) else 1e3 * y
    x[:, 15:] = x[:, :15]  # points that repeat
    solved = solver.condition(x, y)
    for guess in (solved.predict(query), solved.predict(50 * query), solved.leave_one_out()):
        assert guess.features.isfinite().all() and numbers(guess.ppd).isfinite().all()


@every_solver
@pytest.mark.parametrize("layers", [0, 2])
@every_size
def test_cached_answers_are_those_of_one_pass(case: Case, layers: int, points: int):
    settings = NetworkSettings(16, layers, 2, 16, solver=case.settings)
    model = settings.build(case.problem, target_sample=torch.randn(9, 20)).double().frozen()
    x, y, query = (each.double() for each in case.contexts(points))
    cached = model.answer(query, model.encoded(x, y))
    torch.testing.assert_close(numbers(cached), numbers(model(x, y, query)[0]))


@every_solver
def test_queries_do_not_see_each_other(case: Case):
    solved, (_, _, query) = case.built().condition(*case.contexts()[:2]), case.contexts()
    whole = solved.predict(query)
    alone = [numbers(solved.predict(query[:, [i]]).ppd) for i in range(5)]
    torch.testing.assert_close(torch.cat(alone, dim=1), numbers(whole.ppd), atol=1e-5, rtol=1e-4)


@every_solver
def test_the_order_of_the_context_does_not_matter(case: Case):
    solver, (x, y, query) = case.built(), case.contexts(30)
    order = torch.randperm(30)
    one, other = solver.condition(x, y), solver.condition(x[:, order], y[:, order])
    assert_same(one.predict(query), other.predict(query), atol=1e-4)
    torch.testing.assert_close(one.log_evidence, other.log_evidence, atol=1e-3, rtol=1e-4)
    left_out = numbers(one.leave_one_out().ppd)[:, order]
    torch.testing.assert_close(left_out, numbers(other.leave_one_out().ppd), atol=1e-3, rtol=1e-3)


@every_solver
@every_size
def test_the_datasets_of_a_batch_do_not_matter(case: Case, points: int):
    solver, (x, y, query) = case.built(), case.contexts(points)
    together = solver.condition(x, y)
    for i in range(3):
        alone = solver.condition(x[[i]], y[[i]])
        torch.testing.assert_close(
            numbers(alone.predict(query[[i]]).ppd), numbers(together.predict(query).ppd)[[i]], atol=1e-4, rtol=1e-4
        )
        torch.testing.assert_close(alone.log_evidence, together.log_evidence[[i]], atol=1e-3, rtol=1e-4)


@every_solver
def test_an_empty_context_gives_the_prior_the_same_for_all_datasets(case: Case):
    solver, (x, y, query) = case.built(), case.contexts(0)
    solved = solver.condition(x, y)
    guess = solved.predict(query[:1].expand(3, -1, -1)).ppd
    torch.testing.assert_close(numbers(guess), numbers(guess)[:1].expand(3, -1, -1))
    torch.testing.assert_close(solved.log_evidence, torch.zeros_like(solved.log_evidence), atol=1e-6, rtol=0)
    if isinstance(case.outcome, Classes):  # no class is preferred, but by the law of a program
        prefers = isinstance(solver, CellRegression | StepRegression)
        assert prefers or torch.allclose(guess.probs, torch.full_like(guess.probs, 1 / case.outcome.count))
    else:
        torch.testing.assert_close(guess.mean, torch.zeros_like(guess.mean))


def assert_near(found: torch.Tensor, expected: torch.Tensor, off: float) -> None:
    """Probabilities that differ by ``off`` on average at most, and nowhere by more than six times that."""
    difference = (found - expected).abs()
    assert difference.mean() <= off and difference.max() <= 6 * off


def others_than(point: int, numbers: torch.Tensor) -> torch.Tensor:
    return torch.cat([numbers[:, :point], numbers[:, point + 1 :]], dim=1)


@every_solver
def test_leaving_a_point_out_is_conditioning_on_the_others(case: Case):
    """Exactly so with one regression on reals; where there are several, see the test below."""
    if case.weighted:
        pytest.skip("the weights of the regressions are those of the whole context")
    solver, (x, y) = case.built().double(), (each.double() for each in case.contexts(8)[:2])
    left_out = solver.condition(x, y).leave_one_out().ppd
    found = [
        solver.condition(others_than(point, x), others_than(point, y)).predict(x[:, [point]]).ppd for point in range(8)
    ]
    if isinstance(left_out, Categorical):
        assert_near(left_out.probs, torch.cat([ppd.probs for ppd in found], dim=1), case.off)
    else:
        torch.testing.assert_close(left_out.mean, torch.cat([ppd.mean for ppd in found], dim=1))
        torch.testing.assert_close(left_out.stddev, torch.cat([ppd.stddev for ppd in found], dim=1))


def moments_without(solver: Solver, x: torch.Tensor, y: torch.Tensor, point: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and variance of every regression at a point, given the others; nodes are those of the whole context."""
    few_x, few_y, alone = others_than(point, x), others_than(point, y), x[:, [point]]
    if isinstance(solver, LatentRegression):
        nodes = solver.condition(x, y).nodes
        phi, log_noise = solver.phi(solver.basis(few_x), nodes.latents)
        solution, _ = solve(phi, few_y.double()[:, None] * (-log_noise).exp())
        return solution.moments(solver.phi(solver.basis(alone), nodes.latents)[0])
    if isinstance(solver, KernelRegression):
        solved = solver.condition(x, y)
        factor = torch.linalg.cholesky(noisy(solver.family.covariance(few_x, few_x, solved.theta), solved.theta))
        whitener = torch.linalg.inv(factor)
        parts = Regressions(whitener, whitener @ few_y[:, None, :, None], few_y)
        joint = JointKernels(solver.family, (few_x, alone), solved.theta, parts, solved.unnormalised.log_softmax(1))
        return joint.moments()
    if isinstance(solver, CellRegression):
        index = solver.condition(x, y).index
        found = solved_in_cells(solver.laws.fine(few_x, index).local, few_y)
        local = solver.laws.fine(alone, index).local
        return (local.mean + local.fitted(found.state))[:, :, 0], local.leverage(found.spread)[:, :, 0]
    if isinstance(solver, IndicatorRegression):
        mean, variance = solver.condition(few_x, few_y).moments(solver.directions(alone))
        return mean.mT, variance[:, None].expand(-1, solver.count, -1)
    assert isinstance(solver, FeatureSolver)
    return solver.condition(few_x, few_y).solution.moments(solver.phi(alone))


@every_solver
def test_each_regression_without_a_point_is_that_of_the_others(case: Case):
    """Weights of components and nodes are those of the whole context, so regressions are compared one by one."""
    solver, (x, y) = case.built().double(), (each.double() for each in case.contexts(8)[:2])
    if isinstance(solver, StepRegression):
        pytest.skip("nothing is regressed")
    left_out = solver.condition(x, y).left_out
    parts = zip(*(moments_without(solver, x, y, point) for point in range(8)), strict=True)
    mean, variance = (torch.cat(part, dim=-1) for part in parts)
    if isinstance(case.outcome, Classes):
        found, expected = left_out.mean / (1 + left_out.variance).sqrt(), mean / (1 + variance).sqrt()
        assert_near(ndtr(found), ndtr(expected), case.off)
    else:
        torch.testing.assert_close(left_out.mean, mean)
        torch.testing.assert_close(left_out.variance, variance)


@every_solver
def test_its_own_target_hardly_moves_what_a_regression_says_of_a_point(case: Case):
    """On reals it does not at all; the cavity of a label is not exact."""
    solver, (x, y, _) = case.built(), case.contexts(8)
    if isinstance(solver, LatentRegression | KernelRegression):
        pytest.skip("the nodes are chosen by the whole context")
    if isinstance(solver, StepRegression):
        pytest.skip("nothing is regressed")
    changed = y.clone()
    changed[:, 3] = (y[:, 3] + 1) % case.outcome.count if isinstance(case.outcome, Classes) else y[:, 3] + 0.3
    margins = []
    for each in (y, changed):
        left_out = solver.condition(x, each).left_out
        margin = left_out.mean / (1 + left_out.variance).sqrt()
        margins.append(ndtr(margin) if isinstance(case.outcome, Classes) else margin)
    torch.testing.assert_close(margins[0][..., 3], margins[1][..., 3], atol=max(6 * case.off, 1e-5), rtol=1e-5)
    assert not torch.allclose(margins[0][..., 4], margins[1][..., 4], atol=1e-5)


@every_solver
def test_gradients_flow_to_all_weights(case: Case):
    solver, (x, y, query) = case.built(), case.contexts(2)
    if not list(solver.parameters()):
        pytest.skip("nothing of it is learned")
    solved = solver.condition(x, y)
    guess, left_out = solved.predict(query), solved.leave_one_out()
    parts = (numbers(guess.ppd).square(), guess.features, left_out.features.square(), solved.log_evidence)
    sum(part.sum() for part in parts).backward()
    for name, weight in solver.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name
        of_weights = name == "log_shares" or name.startswith("family.log_prior")
        of_weights = of_weights or (isinstance(solver, KernelRegression) and name.startswith("family."))
        is_idle = isinstance(solver, LatentRegression | KernelRegression) and of_weights and len(solver.offsets) == 1
        constant = name == "family.log_prior.bias"  # adds the same to all nodes
        assert is_idle or constant or weight.grad.abs().max() > 0, name  # a single node has the weight 1


@every_solver
def test_what_muon_updates_are_matrices_of_the_solver(case: Case):
    solver = case.built()
    own = {id(weight) for weight in solver.parameters()}
    for weight in solver.matrices():
        assert weight.ndim == 2 and id(weight) in own


@every_solver
def test_the_memory_of_a_query_is_said(case: Case):
    assert case.built().memory_per_query > 0


def standard_error(draws: torch.Tensor) -> torch.Tensor:
    return draws.std(0) / len(draws) ** 0.5


@every_solver
@pytest.mark.parametrize("points", [0, 3, 30])
def test_a_joint_gaussian_has_the_margins_of_the_guess(case: Case, points: int):
    solver, (x, y, query) = case.built(), case.contexts(points)
    solved = solver.condition(x, y)
    joint = solved.joint(query)
    if isinstance(case.outcome, Classes):
        assert joint is None
        return
    assert joint is not None
    margins, guess = joint.observed().margins(), solved.predict(query).ppd
    torch.testing.assert_close(margins.mean, guess.mean, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(margins.stddev, guess.stddev, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(joint.covariance().diagonal(dim1=-2, dim2=-1), joint.moments()[1], atol=1e-8, rtol=1e-5)
    noise = joint.observed().margins().variance - joint.margins().variance
    torch.testing.assert_close(joint.noise_share(), noise / margins.variance)


@every_solver
@pytest.mark.parametrize("points", [0, 3, 30])
def test_drawn_functions_have_the_moments_of_the_joint_gaussian(case: Case, points: int):
    solver, (x, y, query) = case.built().requires_grad_(False), case.contexts(points)
    joint = solver.condition(x, y).joint(query)
    if joint is None:
        pytest.skip("there is no joint Gaussian of labels")
    weights = joint.log_weights.exp()[..., None]
    mean = (weights * joint.moments()[0]).sum(1)
    apart = joint.moments()[0] - mean[:, None]
    between = apart[..., :, None] * apart[..., None, :]
    covariance = (weights[..., None] * (joint.observed().covariance() + between)).sum(1)
    with seeded(3):
        level, normal = torch.rand(20_000, 3).double(), torch.randn(20_000, 3, 5).double()
        for drawn in (joint.observed().functions(20_000), joint.observed().reparameterised(normal, level)):
            centred = drawn - mean
            assert ((drawn.mean(0) - mean) / standard_error(drawn)).abs().max() < 5
            products = centred[..., :, None] * centred[..., None, :]
            assert ((products.mean(0) - covariance) / standard_error(products)).abs().max() < 5.5


@every_solver
def test_the_joint_density_is_that_of_conditioning_in_turn(case: Case):
    """With one component p(a, b) = p(a) p(b given a), where the second factor is that of a longer context."""
    solver, (x, y, query) = case.built().double(), (each.double() for each in case.contexts(8))
    joint = solver.condition(x, y).joint(query[:, :2])
    if joint is None or joint.log_weights.shape[1] > 1 or isinstance(solver, LatentRegression | KernelRegression):
        pytest.skip("weights and nodes of several regressions change with the context")
    values = torch.tensor([0.3, -0.8]).double().expand(3, 2)
    first = solver.condition(x, y).predict(query[:, :1]).ppd.log_prob(values[:, :1])[:, 0]
    longer = solver.condition(torch.cat([x, query[:, :1]], 1), torch.cat([y, values[:, :1]], 1))
    second = longer.predict(query[:, 1:2]).ppd.log_prob(values[:, 1:])[:, 0]
    torch.testing.assert_close(joint.observed().log_prob(values[None])[0], first + second, atol=1e-6, rtol=1e-6)
