from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.distributions import Categorical, Normal, kl_divergence

from priorfit import metrics
from priorfit.baselines import AttentiveNeuralProcess, ExactGP, NeuralProcessSettings
from priorfit.data import Classes, Real
from priorfit.errors import CheckpointError, InputError
from priorfit.network import Problem, load_pfn
from priorfit.predictor import predict
from priorfit.priors import BayesianNetwork, GaussianProcess
from priorfit.seeding import seeded
from priorfit.training import Budget, DataSettings, Recipe, RunOptions, recipe_from, train
from priorfit.zoo import load

GP = GaussianProcess(num_features=1, lengthscale=0.5, noise=1e-2)
TINY = NeuralProcessSettings(width=32, heads=4, layers=2, self_attention=1, num_latents=8)


def recipe(steps: int, **changes: object) -> Recipe:
    return Recipe(GP, 12, Budget(steps=steps), network=TINY, **changes)  # pyright: ignore[reportArgumentType]


def tasks(prior=GP, num_context=6, batch_size=64):
    with seeded(1):
        return prior.sample(batch_size, num_context + 5).split(num_context)


def test_our_loop_trains_it_towards_the_exact_posterior(as_users_run_it: None):
    untrained, trained = (train(recipe(steps, data=DataSettings(batch_size=32))) for steps in (1, 200))
    before, after = (metrics.gap(process, ExactGP(GP), tasks()).mean for process in (untrained, trained))
    assert after < 0.5 * before, (before, after)
    spreads = [predict(trained, batch).stddev.mean() for batch in (tasks(num_context=n) for n in (0, 3, 11))]
    assert spreads[0] > spreads[1] > spreads[2]


def test_the_loss_is_the_negative_evidence_lower_bound():
    process, batch = train(recipe(3)), replace(tasks(), query_law=None)
    assert isinstance(process, AttentiveNeuralProcess)
    with seeded(3):
        loss = process.loss(batch)
    units = process.scaling(batch.context_y)
    x = process.input_encoder(torch.cat([batch.context_x, batch.query_x], dim=1))
    pairs = x + process.target_encoder(units.to_model(torch.cat([batch.context_y, batch.query_y], dim=1)))
    before, after = process.latent(pairs[:, :6]), process.latent(pairs)
    with seeded(3):
        latent = after.rsample()[:, None].expand(-1, 5, -1)
    found = process.deterministic(x[:, 6:], x[:, :6], pairs[:, :6])
    loc, log_scale = process.decoder(torch.cat([x[:, 6:], found, latent], dim=-1)).unbind(-1)
    spread, location = process.scaling.spread, process.scaling.location
    ppd = Normal(location + spread * loc, spread * log_scale.exp())
    bound = ppd.log_prob(batch.query_y).sum(-1) - kl_divergence(after, before).sum(-1)
    torch.testing.assert_close(loss.sum(-1), -bound)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_are_answered_with_probabilities_averaged_over_latents(classes: int):
    prior = BayesianNetwork(num_features=2, outcome=Classes(classes))
    process = train(replace(recipe(5), prior=prior))
    assert isinstance(process, AttentiveNeuralProcess)
    batch = tasks(prior)
    ppd = predict(process, batch)
    assert isinstance(ppd, Categorical) and ppd.probs.shape == (64, 5, classes)
    x = process.input_encoder(batch.context_x)
    pairs, query = x + process.target_encoder(batch.context_y), process.input_encoder(batch.query_x)
    belief, found = process.latent(pairs), process.deterministic(query, x, pairs)
    with seeded(0):
        white = torch.randn(TINY.num_latents, 1, TINY.width)
    each = [process.decoded(query, found, (belief.loc + belief.scale * w)[:, None]).softmax(-1) for w in white]
    torch.testing.assert_close(ppd.log_prob(torch.ones(64, 5)).exp(), torch.stack(each).mean(0)[..., 1])


def test_a_saved_process_answers_as_before_and_is_not_taken_for_a_pfn(tmp_path: Path):
    process, batch = train(recipe(5), RunOptions(folder=tmp_path / "run")), tasks()
    again = load(tmp_path / "run" / "model")
    assert isinstance(again, AttentiveNeuralProcess)
    answers = [predict(each, batch) for each in (process, again)]
    torch.testing.assert_close(answers[0].mean, answers[1].mean, rtol=0, atol=0)
    assert again.card.trained_context == (0, 11)
    with pytest.raises(CheckpointError, match="NeuralProcessSettings"):
        load_pfn(tmp_path / "run" / "model")


def test_a_recipe_names_its_settings():
    description = recipe(5).description()
    assert description["network"]["type"] == "NeuralProcessSettings"
    assert recipe_from(description) == recipe(5)


def test_expected_targets_are_refused():
    with pytest.raises(InputError, match='set targets="sampled"'):
        train(recipe(5, data=DataSettings(targets="expected")))


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="multiple of heads"):
        NeuralProcessSettings(width=30, heads=4)
    with pytest.raises(InputError, match="at least 1"):
        NeuralProcessSettings(num_latents=0)


def test_many_queries_are_answered_in_chunks_as_one_by_one():
    with seeded(0):
        process = AttentiveNeuralProcess(TINY, Problem(1, Real(), (0.0, 1.0))).frozen()
        query_x = torch.rand(1, 2500, 1)
    posterior = process.condition(torch.rand(1, 4, 1), torch.randn(1, 4))
    together = posterior.predict(query_x).mean
    alone = torch.cat([posterior.predict(part).mean for part in query_x.split(700, dim=1)], dim=1)
    torch.testing.assert_close(together, alone)
