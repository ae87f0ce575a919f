import pytest
import torch

from priorfit.data import Batch, Classes, Real
from priorfit.errors import InputError, OutsideTrainingWarning, ShapeError
from priorfit.network import (
    PFN,
    Columns,
    FourierEncoder,
    Harmonics,
    LatentSolver,
    LinearEncoder,
    LinearSolver,
    ModelCard,
    NetworkSettings,
    NormalHead,
    NormalMixtureHead,
    Problem,
    RiemannHead,
)
from priorfit.priors import GaussianProcess
from priorfit.seeding import seeded
from priorfit.zoo import load

SMALL = NetworkSettings(width=32, layers=3, attention_heads=2, feedforward=48, output=RiemannHead(num_buckets=20))
VARIANTS = {
    "sink": SMALL,
    "context units": NetworkSettings(width=32, layers=3, attention_heads=2, feedforward=48, target_scaling="context"),
    "mixture": NetworkSettings(width=32, layers=2, attention_heads=4, feedforward=32, output=NormalMixtureHead(4)),
    "normal": NetworkSettings(
        width=32, layers=2, attention_heads=4, feedforward=32, output=NormalHead(), encoder=LinearEncoder()
    ),
    "linear solver": NetworkSettings(
        width=32, layers=2, attention_heads=2, feedforward=48, solver=LinearSolver(12, 2, 24)
    ),
    "linear solver, bars, context units": NetworkSettings(
        width=32,
        layers=2,
        attention_heads=2,
        feedforward=48,
        output=RiemannHead(num_buckets=20),
        target_scaling="context",
        solver=LinearSolver(4, 3, 24),
    ),
    "linear solver alone": NetworkSettings(width=32, layers=0, solver=LinearSolver(4, 3, 24)),
    "latent solver alone": NetworkSettings(
        width=32, layers=0, solver=LatentSolver(Harmonics(2), nodes=5, evidence_weight=0.0)
    ),
    "latent solver": NetworkSettings(
        width=32,
        layers=2,
        attention_heads=2,
        feedforward=48,
        solver=LatentSolver(Harmonics(2), 1, 4, 7, evidence_weight=0.0),
    ),
    "positions": NetworkSettings(width=30, layers=2, attention_heads=2, feedforward=48, positions="sinusoidal"),
}


def shaken(settings: NetworkSettings, problem: Problem, card: ModelCard | None = None) -> PFN:
    """A network of random weights everywhere: as built, its blocks are identities."""
    with seeded(0):
        model = PFN(settings, problem, card, target_sample=2 + 3 * torch.randn(400, 20))
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(0.2 * torch.randn_like(weight))
    return model.double().frozen()


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def model(request: pytest.FixtureRequest) -> PFN:
    return shaken(request.param, Problem(2, Real(), (0.0, 1.0)))


def questions(n: int = 7, m: int = 5, batch: tuple[int, ...] = (3,)) -> tuple[torch.Tensor, ...]:
    with seeded(1):
        x = torch.rand(*batch, n + m, 2, dtype=torch.float64)
        y = 2 + 3 * torch.randn(*batch, n, dtype=torch.float64)
    return x[..., :n, :], y, x[..., n:, :]


def densities(model: PFN, context_x: torch.Tensor, context_y: torch.Tensor, query_x: torch.Tensor) -> torch.Tensor:
    ppd = model.condition(context_x, context_y).predict(query_x)
    grid = torch.linspace(-6, 10, 9, dtype=torch.float64).reshape(-1, *[1] * len(ppd.batch_shape))
    return ppd.log_prob(grid)


def change_by_order(model: PFN) -> float:
    """How much a log density changes, at most, when the context is shuffled; where it is large, as a share of it."""
    context_x, context_y, query_x = questions()
    order = torch.tensor([4, 2, 0, 6, 1, 5, 3])
    shuffled = densities(model, context_x[:, order], context_y[:, order], query_x)
    straight = densities(model, context_x, context_y, query_x)
    return float(((shuffled - straight).abs() / (1 + straight.abs())).max())


@pytest.mark.parametrize("name", sorted(VARIANTS.keys() - {"positions"}))
def test_the_order_of_the_context_does_not_matter(name: str):
    assert change_by_order(shaken(VARIANTS[name], Problem(2, Real(), (0.0, 1.0)))) < 1e-7


def test_with_positions_the_order_of_the_context_does_matter():
    assert change_by_order(shaken(VARIANTS["positions"], Problem(2, Real(), (0.0, 1.0)))) > 1e-3


def test_queries_do_not_see_each_other(model: PFN):
    context_x, context_y, query_x = questions()
    alone = torch.cat([densities(model, context_x, context_y, query_x[:, i : i + 1]) for i in range(5)], dim=-1)
    torch.testing.assert_close(alone, densities(model, context_x, context_y, query_x))


def test_a_dataset_gets_the_same_answer_alone_and_in_a_batch(model: PFN):
    context_x, context_y, query_x = questions()
    together = densities(model, context_x, context_y, query_x)
    for i in range(3):
        torch.testing.assert_close(densities(model, context_x[i], context_y[i], query_x[i]), together[:, i])


def test_single_precision_agrees_with_double_in_chunks_and_batches(monkeypatch: pytest.MonkeyPatch):
    precise = shaken(SMALL, Problem(2, Real(), (0.0, 1.0)))
    context_x, context_y, query_x = questions(m=50)
    expected = precise.condition(context_x, context_y).predict(query_x).mean
    single = shaken(SMALL, Problem(2, Real(), (0.0, 1.0))).float()
    whole = single.condition(context_x, context_y).predict(query_x).mean
    monkeypatch.setattr("priorfit.network.posterior.CHUNK_BYTES", 20_000)
    posterior = single.condition(context_x, context_y)
    assert posterior.chunk_size() < 50
    chunked = posterior.predict(query_x).mean
    torch.testing.assert_close(chunked, whole, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(whole.double(), expected, atol=1e-4, rtol=1e-4)


def test_a_conditioned_model_answers_as_a_full_pass_does(model: PFN):
    context_x, context_y, query_x = questions()
    units = model.scaling(context_y)
    full = units.to_user(model(context_x, units.to_model(context_y), query_x)[0])
    cached = model.condition(context_x, context_y).predict(query_x)
    torch.testing.assert_close(cached.mean, full.mean)
    torch.testing.assert_close(cached.log_prob(query_x.sum(-1)), full.log_prob(query_x.sum(-1)))


def test_an_empty_context_works_and_equals_the_loss_without_points(model: PFN):
    _, _, query_x = questions()
    empty_x, empty_y = query_x[:, :0], query_x[:, :0, 0]
    ppd = model.condition(empty_x, empty_y).predict(query_x)
    y = query_x.sum(-1)
    loss = model.loss(Batch(empty_x, empty_y, query_x, y))
    assert loss.isfinite().all()
    torch.testing.assert_close(-ppd.log_prob(y), loss)


def test_the_loss_is_the_negative_log_density_in_the_users_units(model: PFN):
    context_x, context_y, query_x = questions()
    y = 1 + query_x.sum(-1)
    ppd = model.condition(context_x, context_y).predict(query_x)
    torch.testing.assert_close(model.loss(Batch(context_x, context_y, query_x, y)), -ppd.log_prob(y))


def test_no_queries_and_any_batch_shape_work(model: PFN):
    context_x, context_y, query_x = questions(batch=(2, 3))
    posterior = model.condition(context_x, context_y)
    assert posterior.predict(query_x).batch_shape == (2, 3, 5)
    assert posterior.predict(query_x[..., :0, :]).batch_shape == (2, 3, 0)
    flat = model.condition(context_x.flatten(0, 1), context_y.flatten(0, 1)).predict(query_x.flatten(0, 1))
    torch.testing.assert_close(posterior.predict(query_x).mean.flatten(0, 1), flat.mean)


def test_gradients_of_a_prediction_agree_with_finite_differences(model: PFN):
    context_x, context_y, query_x = (part.requires_grad_() for part in questions(n=3, m=2, batch=()))

    def summary(context_x: torch.Tensor, context_y: torch.Tensor, query_x: torch.Tensor) -> torch.Tensor:
        ppd = model.condition(context_x, context_y).predict(query_x)
        return torch.stack([ppd.mean, ppd.log_prob(torch.full_like(ppd.mean, 1.3))])

    assert torch.autograd.gradcheck(summary, (context_x, context_y, query_x), atol=1e-6)


def test_predictions_keep_no_graph_unless_their_inputs_do(model: PFN):
    context_x, context_y, query_x = questions()
    assert not model.condition(context_x, context_y).predict(query_x).mean.requires_grad
    assert model.condition(context_x, context_y).predict(query_x.requires_grad_()).mean.requires_grad


def test_context_units_follow_an_affine_change_of_y_for_large_contexts():
    model = shaken(VARIANTS["context units"], Problem(2, Real(), (0.0, 1.0)))
    context_x, context_y, query_x = questions(n=200)
    model.scaling.spread.zero_()
    model.scaling.location.zero_()
    ppd = model.condition(context_x, context_y).predict(query_x)
    with torch.no_grad():
        scaled = model.condition(context_x, 4 * context_y).predict(query_x)
    torch.testing.assert_close(scaled.mean, 4 * ppd.mean)
    torch.testing.assert_close(scaled.stddev, 4 * ppd.stddev)


def test_doubling_the_context_changes_the_answer(model: PFN):
    context_x, context_y, query_x = questions()
    twice = densities(model, torch.cat([context_x] * 2, 1), torch.cat([context_y] * 2, 1), query_x)
    assert (twice - densities(model, context_x, context_y, query_x)).abs().max() > 1e-3


def test_classes_are_read_as_integers_or_as_floats():
    model = shaken(NetworkSettings(width=32, layers=2), Problem(2, Classes(3)))
    context_x, _, query_x = questions()
    labels = torch.arange(7).remainder(3).expand(3, -1)
    ppd = model.condition(context_x, labels).predict(query_x)
    torch.testing.assert_close(ppd.probs, model.condition(context_x, labels.double()).predict(query_x).probs)
    torch.testing.assert_close(ppd.probs.sum(-1), torch.ones(3, 5, dtype=torch.float64))


WRONG = {
    "y that is batch last": (lambda x, y, q: (x, y.T, q), ShapeError, r"\(\*batch, context\) = \(3, 7\).*got \(7, 3\)"),
    "an axis too few": (lambda x, y, q: (x[..., 0], y, q), ShapeError, r"with 2 columns"),
    "other features": (lambda x, y, q: (x, y, q[..., :1]), ShapeError, r"query_x must have shape.*got \(3, 5, 1\)"),
    "another batch": (lambda x, y, q: (x, y, q[:2]), ShapeError, r"batch shape of the context, \(3,\)"),
    "a missing target": (lambda x, y, q: (x, y * torch.nan, q), InputError, "context_y holds NaN"),
    "an infinite input": (lambda x, y, q: (x, y, q / 0), InputError, "query_x holds NaN or infinite"),
}


@pytest.mark.parametrize(("spoil", "error", "message"), WRONG.values(), ids=WRONG.keys())
@pytest.mark.usefixtures("as_users_run_it")
def test_wrong_questions_are_explained(spoil, error, message):
    model = shaken(SMALL, Problem(2, Real(), (0.0, 1.0)))
    context_x, context_y, query_x = spoil(*questions())
    with pytest.raises(error, match=message):
        model.condition(context_x, context_y).predict(query_x)


def test_labels_outside_of_the_classes_are_refused():
    model = shaken(NetworkSettings(width=32, layers=2), Problem(2, Classes(2)))
    context_x, _, _ = questions()
    with pytest.raises(InputError, match=r"classes 0 ... 1; got values from 2 to 2"):
        model.condition(context_x, torch.full((3, 7), 2))
    with pytest.raises(InputError, match="not all whole"):
        model.condition(context_x, torch.full((3, 7), 0.5))


def test_outside_of_its_training_a_model_warns_of_each_limit_that_is_passed():
    model = shaken(SMALL, Problem(2, Real(), (0.0, 1.0), target_range=(-9.0, 9.0)), ModelCard(trained_context=(1, 6)))
    context_x, context_y, query_x = questions()
    with pytest.warns(OutsideTrainingWarning, match="1 to 6 points and is asked about 7") as first:
        posterior = model.condition(context_x, context_y)
    assert len(first) == 1
    for shift in (2, 3):  # the same limit, passed by more
        with pytest.warns(OutsideTrainingWarning, match=rf"inputs in \[0, 1\] and is asked about \[{shift}"):
            posterior.predict(query_x + shift)
    few_x, few_y = context_x[:, :5], context_y[:, :5]
    model.condition(few_x, few_y)  # warnings are errors here
    with pytest.warns(OutsideTrainingWarning, match=r"targets in \[-9, 9\] and is given \[.*Check the units of y"):
        model.condition(few_x, 100 * few_y)


def test_normal_inputs_far_from_all_that_training_showed_are_warned_of():
    model = shaken(NetworkSettings(width=32, layers=2), Problem(2, Real(), columns=Columns(mean=1.0, scale=2.0)))
    context_x, context_y, query_x = questions()
    posterior = model.condition(context_x, context_y)
    with pytest.warns(OutsideTrainingWarning, match=r"inputs in \[-13, 13\] and is asked about"):
        posterior.predict(20 * query_x + 13)


def test_a_class_much_rarer_than_in_training_is_warned_of():
    model = shaken(NetworkSettings(width=32, layers=2), Problem(2, Classes(2), rarest_share=0.35))
    x = torch.rand(200, 2)
    model.condition(x[:6], torch.tensor([1, 0, 0, 0, 0, 0]))  # chance, in so few
    model.condition(x, torch.arange(200) % 3 == 0)
    with pytest.warns(OutsideTrainingWarning, match="rarest class has a share of 35% or more and is given one of 4.0%"):
        model.condition(x, torch.arange(200) < 8)


@pytest.mark.parametrize("size", [1e20, 1e38])
def test_values_that_overflow_inside_are_refused_not_answered_by_nan(size: float):
    model = load("gp-rbf-1d")
    x, y = torch.rand(20, 1), torch.randn(20)
    with (
        pytest.warns(OutsideTrainingWarning, match="Check the units of y"),
        pytest.raises(InputError, match="overflow"),
    ):
        model.condition(x, size * y).predict(x)


def test_fourier_features_need_a_known_range():
    with pytest.raises(InputError, match="needs inputs of a known range"):
        PFN(NetworkSettings(encoder=FourierEncoder()), Problem(1, Real()))


def test_a_width_that_heads_do_not_divide_is_refused():
    with pytest.raises(InputError, match="width=30, attention_heads=4"):
        NetworkSettings(width=30, attention_heads=4)


def test_every_weight_that_learns_has_a_gradient(model: PFN):
    """What several processes need: they wait for the gradient of each weight."""
    network = PFN(model.settings, model.problem, target_sample=torch.randn(4, 50))
    network.loss(GaussianProcess(num_features=2).sample(3, 9).split(5)).sum().backward()
    learned = {name: weight for name, weight in network.named_parameters() if weight.requires_grad}
    assert all(weight.grad is not None for weight in learned.values())
    assert ("target_encoder.linear.weight" in learned) == (model.settings.layers > 0)
