import pytest
import torch
from tiny_recipes import TINY_NETWORK
from torch.distributions import Normal

import priorfit as pf
from priorfit.errors import InputError, PriorError


@pytest.mark.usefixtures("as_users_run_it")  # the checks of shapes would double its 250 steps
def test_a_network_learns_to_count():
    """Attention over the context alone cannot: 1 head of 1 and 4 heads of 4 would look the same."""
    prior = pf.BetaBernoulli(alpha=0.5, beta=0.5)
    settings = pf.NetworkSettings(width=32, layers=2, attention_heads=2, feedforward=32)
    model = pf.fit(prior, num_points=12, steps=250, network=settings, progress=False)
    for n in (0, 1, 4, 11):
        with pf.seeded(1, n):
            tasks = prior.sample(200, n + 1).split(n)
        assert pf.metrics.gap(model, pf.exact(prior), tasks).mean < 0.02
    once = model.condition(torch.full((1, 1), 0.5), torch.ones(1)).predict(torch.full((1, 1), 0.5)).probs[..., 1]
    often = model.condition(torch.full((8, 1), 0.5), torch.ones(8)).predict(torch.full((1, 1), 0.5)).probs[..., 1]
    assert abs(once.item() - 1.5 / 2) < 0.08 and abs(often.item() - 8.5 / 9) < 0.08


def test_a_prior_over_classes_is_fitted_like_one_over_reals():
    @pf.prior(num_features=2, outcome=pf.Classes(3), inputs=pf.NormalInputs())
    def three_slopes(x):
        weights = torch.randn(len(x), 2, 3)
        return (x @ weights).argmax(-1)

    model = pf.fit(three_slopes, num_points=10, steps=3, progress=False)
    ppd = model.condition(torch.randn(5, 2), torch.tensor([0, 1, 2, 1, 0])).predict(torch.randn(4, 2))
    assert ppd.probs.shape == (4, 3)
    assert model.card.prior["name"] == "three_slopes"


def test_a_users_prior_comes_back_as_its_description(tmp_path):
    @pf.prior(num_features=1)
    def lines(x):
        """Straight lines through the origin."""
        return torch.randn(len(x), 1) * x[..., 0] + 0.1 * torch.randn(x.shape[:2])

    model = pf.fit(lines, num_points=6, steps=2, network=TINY_NETWORK, progress=False)
    model.save(tmp_path / "lines")
    prior = pf.load(tmp_path / "lines").card.prior
    assert prior["name"] == "lines" and "Straight lines" in str(prior)


@pytest.mark.parametrize("head", [pf.RiemannHead(50), pf.RiemannHead(50, "plain", "none"), pf.NormalHead()])
@pytest.mark.parametrize("scaling", ["prior", "context"])
@pytest.mark.parametrize("targets", ["sampled", "expected"])
def test_every_head_trains_with_every_kind_of_target(head, scaling, targets):
    settings = pf.NetworkSettings(
        width=16, layers=1, attention_heads=2, feedforward=16, output=head, target_scaling=scaling
    )
    prior = pf.GaussianProcess(outputscale=4.0)
    if isinstance(head, pf.RiemannHead) and head.tails == "none" and targets == "expected":
        pytest.skip("a Normal has mass outside of any bounded support: its expected loss is infinite")
    model = pf.fit(prior, num_points=6, steps=3, network=settings, targets=targets, progress=False)
    assert model.card.training["skipped_steps"] == 0


@pytest.mark.usefixtures("as_users_run_it")
def test_what_is_not_a_prior_is_explained():
    with pytest.raises(InputError, match="@priorfit.prior"):
        pf.fit(lambda x: x[..., 0], steps=1)


def test_a_broken_prior_stops_before_training():
    @pf.prior(num_features=1)
    def wrong(x):
        return torch.randn(len(x))

    with pytest.raises(PriorError, match="wrong"):
        pf.fit(wrong, num_points=5, steps=1, progress=False)


def test_a_bounded_prior_outside_of_its_sample_does_not_stop_training():
    settings = pf.NetworkSettings(
        width=16, layers=1, attention_heads=2, feedforward=16, output=pf.RiemannHead(20, tails="none")
    )
    model = pf.fit(pf.GaussianProcess(), num_points=6, steps=30, network=settings, progress=False)
    assert model.card.training["steps"] == 30


def test_a_program_is_read_before_training_and_its_best_weights_are_kept():
    @pf.prior(num_features=1, slope=Normal(0.0, 1.0), level=Normal(0.0, 1.0))
    def lines(x, slope, level):
        return Normal(level + slope * x[..., 0], 0.1)

    model = pf.fit(lines, num_points=8, steps=4, progress=False)
    assert type(model.settings.solver).__name__ == "CellSolver"
    judged = model.card.training["left_out"]
    assert judged["best"] <= judged["before"]
    with pf.seeded(0):
        tasks = lines.sample(4, 7).split(6)
    ppd = model.condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    exact = pf.exact(lines).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    torch.testing.assert_close(ppd.mean, exact.mean.float(), atol=0.02, rtol=0)
