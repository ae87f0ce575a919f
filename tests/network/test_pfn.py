import pytest
import torch
from network.tiny_networks import SMALL, questions, shaken

import priorfit as pf
from priorfit.data import Batch, Classes, Real
from priorfit.errors import InputError
from priorfit.network import (
    PFN,
    FourierEncoder,
    Harmonics,
    LatentSolver,
    LinearEncoder,
    LinearSolver,
    NetworkSettings,
    NormalHead,
    NormalMixtureHead,
    Problem,
    RiemannHead,
)
from priorfit.priors import GaussianProcess

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


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def model(request: pytest.FixtureRequest) -> PFN:
    return shaken(request.param, Problem(2, Real(), (0.0, 1.0)))


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

    # of random kernels the ratio of scale and noise is large, and differences of rounded solutions lose digits
    atol = 1e-3 if isinstance(model.settings.solver, LatentSolver) else 1e-6
    assert torch.autograd.gradcheck(summary, (context_x, context_y, query_x), atol=atol)


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


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["gp-hyper-1d", "gp-rbf-1d", "bnn-small"])
def test_a_network_with_a_solver_is_refused_in_half_precision(name: str, dtype: torch.dtype):
    """In bfloat16 the first of them answered a whole nat worse, without a word."""
    model = pf.load(name).to(dtype)
    x, y = torch.rand(5, model.problem.num_features), torch.tensor([0.0, 1.0, 0.0, 1.0, 1.0])
    with pytest.raises(InputError, match=rf"float32 or float64; got {dtype}\. Cast it: model\.float\(\)"):
        model.condition(x, y)
    assert model.float().condition(x, y).predict(x).batch_shape == (5,)
