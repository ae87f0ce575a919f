from dataclasses import replace

import pytest
import torch
from torch.distributions import Categorical, LogNormal, Normal, Uniform

import priorfit as pf
from priorfit.data import Batch
from priorfit.distributions import NormalMixture
from priorfit.errors import InputError, UnknownLatentError
from priorfit.network import PFN, Problem
from priorfit.network.latent_spaces import spaces_of
from priorfit.network.latents.posterior import drawn_at, sobol_levels
from priorfit.priors.function import prior
from priorfit.seeding import seeded
from priorfit.training.batches import asked_numbers, draw_batch
from priorfit.training.networks import start_network
from priorfit.training.recipe import Budget, Recipe


@prior(
    num_features=1,
    frequency=Uniform(2.0, 10.0),
    weight=Normal(0.0, 1.0).expand([2]),
    noise=LogNormal(-3.0, 0.3),
    kind=Categorical(torch.ones(3)),
)
def waves(x, frequency, weight, noise, kind):
    wave = weight[:, :1] * torch.sin(frequency * x[..., 0]) + weight[:, 1:]
    return Normal(kind + wave, noise)


SETTINGS = pf.NetworkSettings(width=16, layers=2, attention_heads=2, feedforward=16)


@pytest.fixture(scope="module")
def model():
    """A network with random weights, so that everything depends on everything that it may depend on."""
    with seeded(0):
        spaces = spaces_of(waves.latents, waves.sample_latents(512))
        network = PFN(SETTINGS, Problem(1, pf.Real(), (0.0, 1.0), latents=spaces))
        for weight in network.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        return network.frozen()


@pytest.fixture(scope="module")
def tasks():
    with seeded(1):
        return waves.sample(3, 9).split(6)


def test_latents_have_distributions_of_their_supports(model, tasks):
    latents = model.condition(tasks.context_x, tasks.context_y).latents
    assert list(latents) == ["frequency", "weight", "noise", "kind"] and len(latents) == 4 and "kind" in latents
    assert latents["frequency"].batch_shape == (3,) and latents["weight"].mean.shape == (3, 2)
    assert bool(((latents["frequency"].icdf(0.95) > 2) & (latents["frequency"].icdf(0.95) < 10)).all())
    assert bool((latents["noise"].sample((50,)) > 0).all())
    assert isinstance(latents["kind"], Categorical) and latents["kind"].probs.shape == (3, 3)
    with pytest.raises(UnknownLatentError, match="there is no latent 'decay'; the latents are frequency, weight"):
        latents["decay"]
    assert latents.get("decay") is None
    for count in (0, -1, True):
        with pytest.raises(InputError, match="count must be a whole number of at least 1"):
            latents.sample(count)


def test_a_single_dataset_has_no_batch_axis(model, tasks):
    latents = model.condition(tasks.context_x[0], tasks.context_y[0]).latents
    together = model.condition(tasks.context_x, tasks.context_y).latents
    assert latents["noise"].mean.shape == () and latents.sample(5)["weight"].shape == (5, 2)
    torch.testing.assert_close(latents["noise"].mean, together["noise"].mean[0], rtol=1e-4, atol=1e-6)


def test_joint_draws_follow_the_chain_rule(model, tasks):
    posterior = model.condition(tasks.context_x, tasks.context_y)
    with seeded(2):
        chain = posterior.latents.chain(4)
    again = posterior.latents.density(chain.numbers)
    torch.testing.assert_close(chain.log_prob, again.log_prob)
    row, draw = 1, 2
    values = model.latent_parts.decoded(chain.numbers)
    total, known = 0.0, {}
    for space in model.problem.latents:  # by conditioning on one latent after the other, each time anew
        alone = model.condition(tasks.context_x[row], tasks.context_y[row], **known)
        if space.size == 1:
            law, number = (
                alone.latents[space.name],
                chain.numbers[row, draw, model.latent_parts.indices([space.name])[0]],
            )
            base = law if isinstance(law, Categorical) else law.base_dist
            total = total + float(base.log_prob(number))
        else:  # the numbers of a vector, of which the second is given the first
            indices = model.latent_parts.indices([space.name])
            first = alone.latents[space.name].base_dist.log_prob(chain.numbers[row, draw, indices].double())[0]
            shown = list(alone._memory.known) + indices[:1]
            numbers = torch.cat(
                [alone._memory.numbers.reshape(1, -1), chain.numbers[[row], draw][:, indices[:1]]], dim=1
            )
            tokens = model.latent_parts.known_tokens(numbers, shown)
            offered = model.transformer.offered(tokens, alone._memory.data_layers)
            layers = [a.joined(b) for a, b in zip(alone._memory.data_layers, offered, strict=True)]
            states = model.transformer.predict(model.latent_parts.asked_tokens(indices[1:], 1, None), layers)
            second = model.latent_parts.law(states, indices[1], None).log_prob(chain.numbers[row, draw, indices[1]])
            total = total + float(first) + float(second)
        value = values[space.name][row, draw]
        known[space.name] = value if space.size > 1 else value[0]
    assert total == pytest.approx(float(chain.log_prob[row, draw]), abs=1e-3)


def test_repeated_draws_share_all_numbers_but_the_last_and_have_the_density_that_they_state(model, tasks):
    latents = model.condition(tasks.context_x, tasks.context_y, kind=1).latents  # the last unknown number is the noise
    with seeded(3):
        chain = latents.chain(4, repeats=5)
    assert chain.numbers.shape == (3, 20, 5)
    shared = chain.numbers.unflatten(1, (4, 5))
    for number, distinct in enumerate((1, 1, 1, 5, 1)):
        assert shared[0, 0, :, number].unique().numel() == distinct
        assert number == 4 or shared[0, :, 0, number].unique().numel() == 4
    torch.testing.assert_close(chain.log_prob, latents.density(chain.numbers).log_prob, rtol=1e-4, atol=1e-4)


def test_draws_at_levels_have_the_law():
    """100,000 levels: as many draws below each quantile as its level says, and classes in their shares."""
    loc, scale = torch.tensor([2.0, -1.0, 0.3]), torch.tensor([1.0, 0.1, 0.5])
    mixture = NormalMixture(torch.tensor([[[0.0, 1.0, -1.0]]]), loc, scale).expand((1, 100_000))
    labels = Categorical(torch.tensor([[[0.1, 0.0, 0.9]]]).expand(1, 100_000, 3))
    levels = (torch.arange(100_000) + 0.5) / 100_000
    below = mixture.cdf(drawn_at(mixture, levels)).sort().values
    torch.testing.assert_close(below[0], levels, atol=2e-4, rtol=0)
    assert [(drawn_at(labels, levels) == label).sum().item() for label in range(3)] == [10_000, 0, 90_000]


def test_sobol_levels_are_uniform_and_the_last_number_has_strata():
    with seeded(4):
        first, last = sobol_levels(2, 64, 7)
    assert first.shape == (64,) and last.shape == (448,)
    assert (first * 64).floor().sort().values.tolist() == list(range(64))
    assert (last.reshape(64, 7) * 7).floor().eq(torch.arange(7)).all()
    assert (last * 448).floor().sort().values.tolist() == list(range(448))


def test_known_latents_change_answers_and_are_what_is_drawn(model, tasks):
    plain = model.condition(tasks.context_x, tasks.context_y)
    known = model.condition(tasks.context_x, tasks.context_y, noise=[0.02, 0.05, 0.1], kind=2)
    assert not torch.allclose(plain.predict(tasks.query_x).mean, known.predict(tasks.query_x).mean)
    drawn = known.latents.sample(6)
    torch.testing.assert_close(
        drawn["noise"], torch.tensor([0.02, 0.05, 0.1]).double().expand(6, 3), rtol=1e-4, atol=1e-6
    )
    assert drawn["kind"].unique().tolist() == [2]
    torch.testing.assert_close(known.latents["noise"].mean, torch.tensor([0.02, 0.05, 0.1]).double(), rtol=1e-4, atol=0)


def test_known_latents_are_exchangeable_and_leave_the_data_alone(model, tasks):
    one = model.condition(tasks.context_x, tasks.context_y, noise=0.1, kind=1)
    other = model.condition(tasks.context_x, tasks.context_y, kind=1, noise=0.1)
    torch.testing.assert_close(one.predict(tasks.query_x).mean, other.predict(tasks.query_x).mean)
    plain = model.condition(tasks.context_x, tasks.context_y)
    for mine, theirs in zip(one._memory.data_layers, plain._memory.layers, strict=True):
        assert torch.equal(mine.keys, theirs.keys)


def test_training_sees_what_conditioning_gives(model, tasks):
    parts = model.latent_parts
    batch = Batch(
        tasks.context_x,
        tasks.context_y,
        tasks.query_x,
        tasks.query_y,
        latents=tasks.latents,
        known=tuple(parts.indices(["noise", "kind"])),
    )
    units = model.scaling(batch.context_y)
    ppd, _, latent_loss = model._with_latents(parts, batch, units.to_model(batch.context_y))
    known = {name: tasks.latents[name][:, 0] for name in ("noise", "kind")}
    posterior = model.condition(tasks.context_x, tasks.context_y, **known)
    torch.testing.assert_close(units.to_user(ppd).mean, posterior.predict(tasks.query_x).mean, rtol=1e-4, atol=1e-4)
    log_prob = posterior.latents["frequency"].base_dist.log_prob(
        parts.encoded({"frequency": tasks.latents["frequency"]})[:, 0]
    )
    index = parts.indices(["weight"])
    vector = posterior.latents["weight"].base_dist.log_prob(parts.encoded({"weight": tasks.latents["weight"]}))
    assert len(index) == 2
    torch.testing.assert_close(latent_loss, -((log_prob + vector.sum(1)) / 3).float(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"decay": 1.0}, "there is no latent 'decay'"),
        ({"frequency": 12.0}, "latent 'frequency' must be 2 to 10; got 12"),
        ({"noise": float("nan")}, "'noise' is given as NaN"),
        ({"kind": 0.5}, r"latent 'kind' must be 0 ... 2; got 0.5"),
    ],
)
def test_known_latents_that_are_none_are_refused(model, tasks, known, message):
    with pytest.raises(InputError, match=message):
        model.condition(tasks.context_x, tasks.context_y, **known)


def test_a_model_without_latents_says_so(tasks):
    plain = PFN(SETTINGS, Problem(1, pf.Real(), (0.0, 1.0)))
    assert plain.latent_parts is None and not any("latent" in name for name in plain.state_dict())
    with pytest.raises(InputError, match="this network knows no latents: its prior names none"):
        _ = plain.condition(tasks.context_x, tasks.context_y).latents
    with pytest.raises(InputError, match="knows no latents"):
        plain.condition(tasks.context_x, tasks.context_y, decay=1.0)


def test_a_network_without_layers_refuses_latents():
    settings = pf.NetworkSettings(width=16, layers=0, solver=pf.LinearSolver(features=4, components=1, hidden=0))
    network = start_network(Recipe(waves, 8, Budget(steps=1), network=settings), None)
    assert network.problem.latents == ()
    with pytest.raises(InputError, match="a network without layers has no tokens for latents"):
        network.condition([[0.5]], [1.0], frequency=3.0)


def test_a_solver_sees_data_alone_and_its_network_known_latents():
    settings = pf.NetworkSettings(width=16, layers=1, solver=pf.LinearSolver(features=4, components=1, hidden=0))
    network = start_network(Recipe(waves, 8, Budget(steps=1), network=settings), None)
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(0.1 * torch.randn_like(weight))
    one, other = (network.condition([[0.5]], [1.0], frequency=each) for each in (3.0, 9.0))
    first, second = (posterior._memory.solved.predict(torch.tensor([[[0.2]]])).ppd for posterior in (one, other))
    torch.testing.assert_close(first.mean, second.mean)
    assert not torch.allclose(one.predict([[0.2]]).mean, other.predict([[0.2]]).mean)


def test_a_training_shows_some_latents_and_a_saved_model_keeps_them(tmp_path, tasks):
    model = pf.fit(waves, num_points=9, steps=2, progress=False, network=SETTINGS)
    assert [space.name for space in model.problem.latents] == ["frequency", "weight", "noise", "kind"]
    model.save(tmp_path / "model")
    again = pf.load(tmp_path / "model")
    assert again.problem == model.problem
    one, other = (each.condition(tasks.context_x, tasks.context_y).latents["noise"].mean for each in (model, again))
    assert torch.equal(one, other)


def test_an_eighth_of_the_batches_show_latents_and_all_ask_for_one_after_the_other():
    with seeded(0):
        drawn = [asked_numbers(4) for _ in range(1600)]
    shown = [known for known, _ in drawn]
    assert 150 < sum(bool(each) for each in shown) < 250
    assert {len(each) for each in shown} == {0, 1, 2, 3, 4} and {n for each in shown for n in each} == {0, 1, 2, 3}
    assert all({*known, *chain} == {0, 1, 2, 3} for known, chain in drawn)
    assert all(chain == (0, 1, 2, 3) for known, chain in drawn if not known)
    assert {chain for known, chain in drawn if known == (1, 3)} == {(0, 2), (2, 0)}
    recipe = Recipe(waves, 8, Budget(steps=1))
    assert draw_batch(recipe, 3, 0).known == draw_batch(recipe, 3, 0).known


@pytest.mark.parametrize(
    ("known", "chain"), [((), (0, 1, 2, 3, 4)), ((), (3, 1, 0, 4, 2)), ((2, 4), (3, 0, 1)), ((1,), ())]
)
def test_a_chain_is_asked_in_one_pass_as_number_after_number_would_be(model, tasks, known, chain):
    """Without a query of y the loss is that of the latents: compared with one pass for each number of the chain."""

    def states(known, chain):
        batch = replace(tasks, known=known, chain=chain)
        numbers = model.latent_parts.encoded(batch.latents)
        shown, asked, seen = model.latent_parts.seen(known, chain, batch.query_x.shape[1])
        tokens = [
            model._context_tokens(batch.context_x, batch.context_y, None),
            model.latent_parts.known_tokens(numbers[:, shown], shown),
            model._query_tokens(batch.query_x, None)[0],
            model.latent_parts.asked_tokens(asked, 3, None),
        ]
        found = model.transformer.forward_with(torch.cat(tokens, dim=1), 6, len(shown), seen)
        return asked, found[:, :3], found[:, 3:]

    asked, y, together = states(known, chain)
    unknown, of_y, margins = states(known, ())
    assert asked == [*unknown, *chain[1:]] and unknown == [number for number in range(5) if number not in known]
    torch.testing.assert_close(y, of_y, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(together[:, : len(unknown)], margins, rtol=1e-4, atol=1e-5)
    for place, number in enumerate(chain[1:]):
        left, _, alone = states((*known, *chain[: place + 1]), ())
        found = together[:, len(unknown) + place]
        torch.testing.assert_close(found, alone[:, left.index(number)], rtol=1e-4, atol=1e-5)


def test_the_loss_of_a_chain_is_the_joint_density_of_its_draws_and_its_margins(model, tasks):
    batch = replace(tasks, chain=(0, 1, 2, 3, 4))
    posterior = model.condition(tasks.context_x, tasks.context_y)
    numbers = model.latent_parts.encoded(tasks.latents)
    joint = posterior.latents.density(numbers[:, None]).log_prob[:, 0]
    of_y = model.loss(replace(tasks, latents={}))
    weight = 0.25 * 9 / 3  # LATENT_WEIGHT * points / queries
    chain, margins = (
        (model.loss(each) - of_y)[:, 0].double() / weight for each in (batch, tasks)
    )  # means over numbers
    first = posterior.latents["frequency"].log_prob(tasks.latents["frequency"][:, 0])
    first = first + posterior.latents.parts.spaces[0].log_slope(numbers[:, :1])[:, 0]  # of the coordinate
    torch.testing.assert_close(9 * chain, 5 * margins - (joint - first), rtol=1e-4, atol=1e-4)
