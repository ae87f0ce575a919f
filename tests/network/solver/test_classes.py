import pytest
import torch
from torch.special import ndtr

import priorfit as pf
from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.network import ClassSolver, NetworkSettings, Problem, SigmoidHead
from priorfit.network.encoders.inputs import LinearEncoder
from priorfit.network.solver.classes import OneAgainstRest
from priorfit.network.solver.probit import classify
from priorfit.seeding import seeded
from priorfit.training import Budget, DataSettings, Recipe, train


def built(count: int, components: int = 2) -> OneAgainstRest:
    with seeded(0):
        solver = ClassSolver(4, components, 16).build(Problem(3, Classes(count)), LinearEncoder())
        assert isinstance(solver, OneAgainstRest)
        for weight in solver.parameters():
            weight.data.add_(0.1 * torch.randn_like(weight))
    return solver


def labelled(count: int, points: int = 20) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    with seeded(1, count):
        return torch.randn(5, points, 3), torch.randint(count, (5, points)).float(), torch.randn(5, 4, 3)


def test_a_guess_is_the_odds_of_each_class_against_the_rest_normalised():
    solver, (x, y, query) = built(3, components=1), labelled(3)
    phi, phi_query = (solver.features.phi(each, torch.float32) for each in (x, query))
    odds = []
    for label in range(3):
        solution, _ = classify(phi, torch.where(y == label, 1.0, -1.0)[:, None])
        probability = ndtr(solution.mean(phi_query) / (1 + solution.variance(phi_query)).sqrt())[:, 0]
        odds.append(probability.logit())
    expected = (solver.log_sharpness.exp() * torch.stack(odds, dim=-1)).softmax(-1)
    torch.testing.assert_close(solver.condition(x, y).predict(query).ppd.probs, expected)


def test_components_are_mixed_by_the_evidence_of_all_of_their_classes():
    solver, (x, y, query) = built(3, components=2), labelled(3)
    phi = solver.features.phi(x, torch.float32)
    evidence, alone = torch.zeros(5, 2), []
    for label in range(3):
        solution, _ = classify(phi, torch.where(y == label, 1.0, -1.0)[:, None].expand(-1, 2, -1))
        evidence = evidence + solution.log_evidence
    for component in range(2):
        one = built(3, components=1)
        weights = solver.state_dict()
        chosen = slice(4 * component, 4 * component + 4)
        weights["features.output.weight"] = weights["features.output.weight"][chosen]
        weights["features.output.bias"] = weights["features.output.bias"][chosen]
        weights["features.slow_log_gain"] = weights["features.slow_log_gain"][[component]]
        one.load_state_dict(weights)
        alone.append(one.condition(x, y).predict(query).ppd.probs)
    shares = evidence.softmax(1)[:, :, None, None]
    solved = solver.condition(x, y)
    torch.testing.assert_close(solved.predict(query).ppd.probs, (shares * torch.stack(alone, 1)).sum(1))
    torch.testing.assert_close(solved.log_evidence, evidence.exp().mean(1).log(), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_another_order_of_the_classes_is_the_same_answer_in_that_order(count: int):
    solver, (x, y, query) = built(count), labelled(count)
    with seeded(2):
        order = torch.randperm(count)  # class k is called order[k]
    plain, renamed = solver.condition(x, y), solver.condition(x, order[y.long()].float())
    for one, other in (
        (plain.predict(query), renamed.predict(query)),
        (plain.leave_one_out(), renamed.leave_one_out()),
    ):
        torch.testing.assert_close(other.ppd.probs[..., order], one.ppd.probs, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(other.features, one.features, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(plain.log_evidence, renamed.log_evidence, atol=1e-3, rtol=1e-5)


def test_the_weights_are_the_same_for_any_number_of_classes():
    two, seven, twenty = (built(count).state_dict() for count in (2, 7, 20))
    assert {name: value.shape for name, value in two.items()} == {name: value.shape for name, value in seven.items()}
    many = built(20)
    many.load_state_dict(two)
    x, y, query = labelled(20, points=40)
    assert many.condition(x, y).predict(query).ppd.probs.shape == (5, 4, 20)
    assert set(two) == set(twenty)


def test_the_tokens_numbers_do_not_depend_on_the_number_of_classes():
    assert built(2).num_numbers == built(7).num_numbers == 2 * 2 + 2


def test_a_class_that_no_point_has_is_possible_but_less_probable():
    solver, (x, y, _) = built(4), labelled(3)
    probs = solver.condition(x, y).predict(x).ppd.probs
    assert (probs[..., 3] > 0).all()
    assert probs[..., 3].mean() < probs[..., :3].mean(dim=(0, 1)).min()


@pytest.mark.parametrize(("count", "head"), [(2, None), (2, SigmoidHead()), (3, None), (7, None)])
def test_before_training_a_network_answers_what_the_solver_guesses(count: int, head):
    with seeded(1):
        settings = NetworkSettings(16, 1, 2, 16, output=head, solver=ClassSolver(4, 2, 16))
        model = settings.build(Problem(3, Classes(count))).frozen()
    x, y, query = labelled(count)
    assert model.solver is not None
    torch.testing.assert_close(
        model.condition(x, y).predict(query).probs, model.solver.condition(x, y).predict(query).ppd.probs
    )


def test_three_bands_are_told_apart_sooner_with_a_solver():
    @pf.prior(num_features=2, outcome=Classes(3))
    def bands(x: torch.Tensor) -> torch.Tensor:
        direction = torch.randn(x.shape[0], 2, 1)
        score = (x @ direction)[..., 0] + 0.1 * torch.randn(x.shape[:2])
        cuts = score.quantile(torch.tensor([1 / 3, 2 / 3]), dim=1)  # (2, batch)
        return (score > cuts[0, :, None]).float() + (score > cuts[1, :, None]).float()

    with seeded(3):
        tasks = bands.sample(100, 31).split(30)
    data, losses = DataSettings(batch_size=16), []
    for solver in (None, ClassSolver(8, 1, 32)):
        settings = NetworkSettings(16, 1, 2, 16, solver=solver)
        model = train(Recipe(bands, num_points=32, budget=Budget(steps=40), data=data, network=settings))
        losses.append(pf.metrics.nll(model, tasks).mean)
    assert losses[1] < losses[0] - 0.15


def test_it_is_saved_with_the_model(tmp_path):
    model = NetworkSettings(16, 1, 2, 16, solver=ClassSolver(4, 2, 16)).build(Problem(3, Classes(4))).frozen()
    model.save(tmp_path / "model")
    x, y, query = labelled(4)
    before, after = (each.condition(x, y).predict(query) for each in (model, pf.load(tmp_path / "model")))
    assert torch.equal(before.probs, after.probs)


@pytest.mark.parametrize("wrong", [{"features": 0}, {"components": 0}, {"hidden": -1}, {"evidence_weight": -1.0}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InputError, match="hidden and evidence_weight at least 0; got ClassSolver"):
        ClassSolver(**wrong)


def test_reals_are_refused():
    with pytest.raises(InputError, match=r"ClassSolver is for classes; this problem has Real\(\). Use LinearSolver"):
        NetworkSettings(solver=ClassSolver()).build(Problem(1, Real(), (0.0, 1.0)))
