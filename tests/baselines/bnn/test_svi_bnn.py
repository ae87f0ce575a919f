import pyro
import pytest
import torch

from priorfit.baselines.bnn.svi_bnn import SviBNN
from priorfit.baselines.deadline import Deadline
from priorfit.data import Classes
from priorfit.errors import InputError, TimeLimitError
from priorfit.priors import ArchitecturePrior, BayesianNetwork
from priorfit.seeding import seeded

LINE = BayesianNetwork(num_features=1, hidden=(), noise=1.0)
TINY = BayesianNetwork(num_features=1, hidden=(2,), activation="tanh", outcome=Classes(2))

FITS = [
    (0, 500, 0.02, 0.2),
    (8, 500, 0.02, 0.2),
    pytest.param(8, 6000, 0.002, 0.06, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
]
"""Points of context, steps, learning rate, and the error that is left."""


def tasks(prior, batch_size, num_context, num_queries=30, dtype=torch.float32):
    with seeded(0):
        x = prior.inputs.sample(batch_size, num_context + num_queries, prior.num_features).to(dtype)
        return prior.draw(x).split(num_context)


def best_factors(x, y):
    """Means and scales of the independent Normals nearest to the posterior of weight and bias (Bishop, 10.1.2)."""
    x = torch.cat([x, torch.ones_like(x)], dim=-1)  # (context, 2)
    precision = x.mT @ x / LINE.noise + torch.eye(2)
    mean = torch.linalg.solve(precision, x.mT @ y / LINE.noise)
    return mean, precision.diagonal().rsqrt(), precision.inverse().diagonal().sqrt()


@pytest.mark.parametrize(("num_context", "num_steps", "learning_rate", "error"), FITS)
def test_the_guide_of_a_linear_model_is_the_best_of_independent_normals(num_context, num_steps, learning_rate, error):
    with seeded(0):
        x = 1.5 + 0.5 * torch.randn(num_context, 1)  # to one side of 0, so that weight and bias depend on each other
        y = LINE.targets(x[None])[0]
    mean, scale, marginal_scale = best_factors(x, y)
    guide = SviBNN(LINE, num_steps, num_samples=1, learning_rate=learning_rate).condition(x, y).guides[0]
    assert ((guide.loc - mean).abs() < 2 * error * scale).all()
    torch.testing.assert_close(guide.scale, scale, rtol=error, atol=0)
    assert num_context == 0 or (marginal_scale > (1 + 2 * error) * scale).all()  # what it must not be


def test_it_learns_to_classify_with_the_settings_of_the_papers_grid():
    prior = BayesianNetwork(num_features=4, hidden=(10,), activation="tanh", outcome=Classes(2))
    with seeded(0):
        x = torch.randn(1, 150, 4)
    y = (x[..., 0] + x[..., 1] > 0).float()
    predictor = SviBNN(prior, num_steps=400, num_samples=400, learning_rate=0.001)
    ppd = predictor.condition(x[:, :100], y[:, :100]).predict(x[:, 100:])
    assert float(((ppd.probs[..., 1] > 0.5) == (y[:, 100:] > 0.5)).float().mean()) > 0.9


def test_predictions_are_averaged_over_as_many_draws_of_the_guide_as_there_are_steps():
    batch = tasks(LINE, 1, 6)
    posterior = SviBNN(LINE, num_steps=300).condition(batch.context_x, batch.context_y)
    guide = posterior.guides[0]
    assert guide.samples.shape == (300, 2)
    ppd = posterior.predict(batch.query_x)
    expected = batch.query_x[0] * guide.samples[:, 0] + guide.samples[:, 1]  # (query, samples)
    torch.testing.assert_close(ppd.loc[0], expected)
    torch.testing.assert_close(guide.samples.mean(0), guide.loc, rtol=0, atol=4 * float(guide.scale.max()) / 300**0.5)
    torch.testing.assert_close(guide.samples.std(0), guide.scale, rtol=0.2, atol=0)
    few = SviBNN(LINE, num_steps=3, num_samples=7).condition(batch.context_x, batch.context_y)
    assert few.guides[0].samples.shape == (7, 2)


def test_the_same_seed_gives_the_same_guide_and_another_seed_another():
    batch = tasks(TINY, 1, 5)
    locs = [
        SviBNN(TINY, num_steps=5, seed=seed).condition(batch.context_x, batch.context_y).guides[0].loc
        for seed in (0, 0, 1)
    ]
    assert torch.equal(locs[0], locs[1])
    assert not torch.equal(locs[0], locs[2])


def test_it_runs_where_gradients_are_off_and_leaves_all_as_it_was():
    batch = tasks(TINY, 1, 5, dtype=torch.float64)
    predictor = SviBNN(TINY, num_steps=3)
    with pyro.get_param_store().scope():
        pyro.param("loc", torch.ones(2))
        state = torch.get_rng_state()
        expected = predictor.condition(batch.context_x, batch.context_y).guides[0]
        for off in (torch.no_grad, torch.inference_mode):
            with off():
                guide = predictor.condition(batch.context_x.clone(), batch.context_y.clone()).guides[0]
                assert torch.equal(guide.samples, expected.samples)
        assert not any(part.requires_grad for part in (expected.loc, expected.scale, expected.samples))
        assert list(pyro.get_param_store().keys()) == ["loc"]
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.distributions.Distribution._validate_args


def test_out_of_time_gives_the_guide_of_the_steps_so_far(monkeypatch):
    batch = tasks(TINY, 1, 5)
    expected = SviBNN(TINY, num_steps=3, num_samples=20).condition(batch.context_x, batch.context_y)
    clock = iter([False, False, False, True])
    monkeypatch.setattr(Deadline, "is_past", property(lambda _: next(clock)))
    cut = SviBNN(TINY, num_steps=20).condition(batch.context_x, batch.context_y)
    assert (expected.is_cut_short.tolist(), cut.is_cut_short.tolist()) == ([False], [True])
    assert cut.guides[0].num_steps == 3
    assert torch.equal(cut.guides[0].samples, expected.guides[0].samples)


def test_no_datasets_have_no_answers():
    posterior = SviBNN(TINY, num_steps=3).condition(torch.zeros(0, 5, 1), torch.zeros(0, 5))
    assert posterior.predict(torch.zeros(0, 3, 1)).batch_shape == (0, 3)
    assert posterior.is_cut_short.shape == (0,)


def test_out_of_time_before_the_first_step_is_an_error():
    batch = tasks(TINY, 1, 5)
    with pytest.raises(TimeLimitError, match="SviBNN was still in its first step after time_limit = 1e-09 s"):
        SviBNN(TINY, time_limit=1e-9).condition(batch.context_x, batch.context_y)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_steps": 0}, "num_steps must be at least 1; got 0"),
        ({"num_samples": 0}, "num_samples must be at least 1; got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0; got 0.0"),
        ({"time_limit": -1.0}, "time_limit is a number of seconds above 0"),
        (
            {"prior": BayesianNetwork(architecture=ArchitecturePrior())},
            "SviBNN samples the weights of one architecture",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        SviBNN(**{"prior": TINY} | fields)
