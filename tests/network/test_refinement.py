import warnings
from itertools import product

import pytest
import torch
from torch.distributions import Bernoulli, Categorical, Dirichlet, Normal, Uniform

import priorfit as pf
from priorfit.errors import InputError, ShapeError, UncertainTruthWarning
from priorfit.network import PFN, Problem
from priorfit.network.latent_spaces import spaces_of
from priorfit.priors.function import prior
from priorfit.seeding import seeded
from priorfit.verify.joint import joint_check
from priorfit.verify.latents import latent_checks

SETTINGS = pf.NetworkSettings(width=16, layers=2, attention_heads=2, feedforward=16)
LINEAR = pf.LinearRegression(num_features=1, noise=0.25)


@prior(num_features=1, inputs=pf.NormalInputs(), slope=Normal(0.0, 1.0))
def lines(x, slope):
    """Linear regression, as `LINEAR`."""
    return Normal(slope * x[..., 0], 0.5)


@prior(num_features=1, inputs=pf.NormalInputs(), slope=Normal(0.0, 2.0))
def other_lines(x, slope):
    return Normal(slope * x[..., 0], 0.5)


@prior(num_features=1, inputs=pf.NormalInputs(), slope=Uniform(0.0, 1.0))
def bounded_lines(x, slope):
    return Normal(slope * x[..., 0], 0.5)


@pytest.fixture(scope="module")
def model():
    """A network that was not trained: it proposes the prior, and weights do the rest."""
    with seeded(0):
        spaces = spaces_of(lines.latents, lines.sample_latents(4096))
        network = PFN(SETTINGS, Problem(1, pf.Real(), latents=spaces)).frozen()
    network.prior = lines
    return network


@pytest.fixture(scope="module")
def tasks():
    with seeded(1):
        return LINEAR.sample(4, 8).split(3)


def test_weights_correct_even_an_untrained_network(model, tasks):
    with seeded(2):
        found = model.condition(tasks.context_x, tasks.context_y).refined(particles=4096)
    exact = pf.exact(LINEAR).condition(tasks.context_x, tasks.context_y).predict(tasks.query_x)
    ppd = found.predict(tasks.query_x)
    assert bool(found.is_reliable.all()) and found.k_hat.shape == (4,)
    assert float(torch.distributions.kl_divergence(exact, Normal(ppd.mean, ppd.stddev)).max()) < 0.01
    assert found.latents["slope"].mean.shape == (4,) and found.latents.sample(7)["slope"].shape == (7, 4)
    functions = found.sample_functions(tasks.query_x, 9)
    torch.testing.assert_close(
        functions / tasks.query_x[..., 0], (functions / tasks.query_x[..., 0])[..., :1].expand(9, 4, 5)
    )


def test_a_known_latent_needs_no_particles(model, tasks):
    found = model.condition(tasks.context_x, tasks.context_y, slope=0.5).refined(particles=64)
    torch.testing.assert_close(found.predict(tasks.query_x).mean, 0.5 * tasks.query_x[..., 0], rtol=1e-3, atol=1e-4)


def test_weights_on_too_few_particles_are_not_to_be_believed(model):
    x = torch.linspace(-3, 3, 200)[None, :, None]
    with pytest.warns(UncertainTruthWarning, match="rest on too few particles .* Do not believe"), seeded(3):
        model.condition(x, 3.5 * x[..., 0]).refined(particles=64)


def test_refined_needs_particles_a_prior_and_a_law(model, tasks):
    posterior = model.condition(tasks.context_x, tasks.context_y)
    with pytest.raises(InputError, match="particles must be a whole number of at least 64; got 3"):
        posterior.refined(particles=3)
    unbound = PFN(SETTINGS, model.problem)
    with pytest.raises(InputError, match=r"needs the code of the prior, and a file holds none. .* pf.load\(folder"):
        unbound.condition(tasks.context_x, tasks.context_y).refined()
    unbound.prior = prior(num_features=1, slope=Normal(0.0, 1.0))(lambda x, slope: slope * x[..., 0])
    with pytest.raises(InputError, match="needs a likelihood, and prior <lambda> has none"):
        unbound.condition(tasks.context_x, tasks.context_y).refined()


def test_functions_are_lines_without_noise_and_have_the_law_with_it(model, tasks):
    posterior = model.condition(tasks.context_x, tasks.context_y)
    with seeded(4):
        quiet, noisy = (posterior.sample_functions(tasks.query_x, 500, noise=noise) for noise in (False, True))
    slopes = quiet / tasks.query_x[..., 0]
    torch.testing.assert_close(slopes, slopes[..., :1].expand_as(slopes), rtol=1e-3, atol=1e-4)
    residual = noisy - tasks.query_x[..., 0] * (noisy * tasks.query_x[..., 0]).sum(-1, keepdim=True) / (
        tasks.query_x[..., 0].square().sum(-1, keepdim=True)
    )
    assert float(residual.square().sum(-1).mean() / 4) == pytest.approx(0.25, rel=0.15)  # four degrees of freedom


def test_without_a_law_functions_are_noisy_and_say_so(tasks):
    plain = PFN(SETTINGS, Problem(1, pf.Real())).frozen()
    posterior = plain.condition(tasks.context_x, tasks.context_y)
    with pytest.raises(InputError, match="functions without noise need the law of the prior"):
        posterior.sample_functions(tasks.query_x, 3)
    assert posterior.sample_functions(tasks.query_x, 3, noise=True).shape == (3, 4, 5)
    with pytest.raises(InputError, match="count must be a whole number of at least 1"):
        posterior.sample_functions(tasks.query_x, 0, noise=True)


def test_the_joint_density_is_the_chain_rule_in_the_order_given(tasks):
    gp = pf.load("gp-rbf-1d")
    x, y = tasks.context_x.sigmoid(), tasks.context_y
    query_x = tasks.query_x.sigmoid()[:, :2]
    found = gp.condition(x, y).joint_log_prob(query_x, tasks.query_y[:, :2])
    first = gp.condition(x, y).predict(query_x[:, :1]).log_prob(tasks.query_y[:, :1])[:, 0]
    longer = gp.condition(torch.cat([x, query_x[:, :1]], 1), torch.cat([y, tasks.query_y[:, :1]], 1))
    second = longer.predict(query_x[:, 1:]).log_prob(tasks.query_y[:, 1:2])[:, 0]
    torch.testing.assert_close(found, first + second, rtol=1e-4, atol=1e-4)
    with pytest.raises(ShapeError, match=r"y must have shape \(\*batch, query\)"):
        gp.condition(x, y).joint_log_prob(query_x, tasks.query_y)


def test_a_prior_is_bound_to_a_file_only_if_it_fits(tmp_path, tasks):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained = pf.fit(lines, num_points=6, steps=2, progress=False, network=SETTINGS)
    assert trained.prior is lines
    trained.save(tmp_path / "lines")
    assert pf.load(tmp_path / "lines").prior is None
    again = pf.load(tmp_path / "lines", prior=lines)
    assert again.condition(tasks.context_x, tasks.context_y).sample_functions(tasks.query_x, 2).shape == (2, 4, 5)
    with pytest.raises(InputError, match="draws with the same seed differ"):
        pf.load(tmp_path / "lines", prior=other_lines)
    with pytest.raises(
        InputError, match=r"its latents are slope \(0 to 1\); those of the file are slope \(any number\)"
    ):
        pf.load(tmp_path / "lines", prior=bounded_lines)
    longer = again.fit_more(steps=2)
    assert longer.card.trained_in_all("steps") == 4 and longer.prior is lines
    with pytest.raises(InputError, match="fit_more needs the code of the prior"):
        pf.load(tmp_path / "lines").fit_more(steps=1)
    checks = latent_checks(longer, lines, 3, seed=0)
    assert [check.question for check in checks] == ["latent slope at n = 3"] and checks[0].numbers["distance"] > 0


def test_the_kind_of_a_mixture_is_a_latent_where_kinds_are_named():
    mixture = pf.Mixture([pf.GaussianProcess(), LINEAR], kinds=["smooth", "line"], weights=[0.25, 0.75])
    wrapped = pf.Standardized(pf.Mixture([pf.GaussianProcess()] * 2, kinds=["one", "two"]))
    with seeded(0):
        drawn = mixture.sample(2000, 3)
    assert float(drawn.latents["kind"].double().mean()) == pytest.approx(0.75, abs=0.04)
    far = drawn.x.abs().amax((1, 2)) > 1  # inputs of the first kind lie in [0, 1]
    assert drawn.latents["kind"][far].unique().tolist() == [1]
    assert wrapped.latents[0].name == "kind" and set(wrapped.sample(5, 3).latents) == {"kind"}
    assert pf.Mixture([pf.GaussianProcess()] * 2).latents == ()
    with pytest.raises(InputError, match="kinds must name each of the 2 priors"):
        pf.Mixture([pf.GaussianProcess()] * 2, kinds=["one"])
    trained = pf.fit(mixture, num_points=6, steps=1, progress=False, network=SETTINGS)
    assert trained.condition([[0.5]], [1.0]).latents["kind"].probs.shape == (2,)


def test_the_joint_density_of_an_exact_network_hardly_depends_on_the_order():
    found = joint_check(pf.load("gp-rbf-1d"), pf.GaussianProcess(num_features=1, lengthscale=0.6), 10, seed=0)
    assert found.verdict == "good" and 0 < found.numbers["spread"] < 0.02


@prior(
    num_features=1,
    kind=Categorical(torch.tensor([0.2, 0.3, 0.5])),
    shifted=lambda kind: Bernoulli(0.2 + 0.3 * (kind == 1)),
)
def steps(x, kind, shifted):
    """Six functions, so that posteriors are finite sums; labels are whole numbers and may index a table."""
    return Normal(torch.tensor([0.0, 0.4, 1.0])[kind] + 0.7 * shifted * x[..., 0], 0.5)


def test_refined_and_sampled_classes_agree_with_sums_over_them():
    with seeded(0):
        spaces = spaces_of(steps.latents, steps.sample_latents(512))
        network = PFN(SETTINGS, Problem(1, pf.Real(), (0.0, 1.0), latents=spaces)).frozen()
    network.prior = steps
    x, y = torch.tensor([[0.2], [0.9]]), torch.tensor([0.6, 0.8])
    probs = torch.zeros(3, 2)
    for kind, shifted in product(range(3), range(2)):
        rise = 0.5 if kind == 1 else 0.2
        law = Normal(torch.tensor([0.0, 0.4, 1.0])[kind] + 0.7 * shifted * x[:, 0], 0.5)
        prior_mass = [0.2, 0.3, 0.5][kind] * (rise if shifted else 1 - rise)
        probs[kind, shifted] = prior_mass * law.log_prob(y).sum().exp()
    probs = probs / probs.sum()
    with seeded(1):
        found = network.condition(x, y).refined(particles=20_000)
    for posterior in (found, pf.exact(steps).condition(x, y)):
        kinds, shifted = posterior.latents["kind"], posterior.latents["shifted"]
        assert float(kinds.cdf(0.5)) == pytest.approx(float(probs[0].sum()), abs=0.01)
        assert float(kinds.cdf(1.5)) == pytest.approx(float(probs[:2].sum()), abs=0.01)
        assert float(shifted.mean) == pytest.approx(float(probs[:, 1].sum()), abs=0.01)
    for one in (True, 1, 1.0):
        given = network.condition(x, y, shifted=one).refined(particles=20_000).latents["kind"]
        assert float(given.cdf(0.5)) == pytest.approx(float(probs[0, 1] / probs[:, 1].sum()), abs=0.02)
    assert network.condition(x, y, kind=2.0).sample_functions(x, 3, noise=True).shape == (3, 2)


def random_steps(classes: int):
    """A prior over random classes: probabilities of kinds, of a flag given the kind, and a level for each pair."""
    kinds, flags, levels = Dirichlet(torch.ones(classes)).sample(), torch.rand(classes), torch.randn(classes, 2)

    @prior(num_features=1, kind=Categorical(kinds), flag=lambda kind: Bernoulli(flags[kind]))
    def made(x, kind, flag):
        return Normal(levels[kind, flag.long()] + 0 * x[..., 0], 0.5)

    return made, kinds[:, None] * torch.stack([1 - flags, flags], dim=-1), levels


@pytest.mark.parametrize("case", range(16))
def test_refined_random_classes_are_reliable_and_agree_with_exact_sums(case):
    """Sixteen datasets for each of sixteen priors, of one to eight points; any warning is an error."""
    with seeded(case):
        made, joint, levels = random_steps(2 + case % 5)
        spaces = spaces_of(made.latents, made.sample_latents(512))
        network = PFN(SETTINGS, Problem(1, pf.Real(), (0.0, 1.0), latents=spaces)).frozen()
        tasks = made.sample(16, 9).split(1 + case % 8)
        network.prior = made
        found = network.condition(tasks.context_x, tasks.context_y).refined(particles=2048)
    likelihood = Normal(levels, 0.5).log_prob(tasks.context_y[:, :, None, None]).sum(1)  # (datasets, kinds, flags)
    exact = (joint.log() + likelihood).double().flatten(1).softmax(-1).unflatten(1, joint.shape)
    assert float(found.effective_sample_size.min()) > 0.25 * 4 * 2048
    pairs = [(found.latents["flag"].mean, exact[..., 1].sum(1))]
    for kind in range(len(joint)):
        pairs.append((found.latents["kind"].cdf(torch.full((16,), kind + 0.5)), exact[:, : kind + 1].sum((1, 2))))
    for answer, truth in pairs:
        error = (truth * (1 - truth).clamp_min(0) / found.effective_sample_size).sqrt()
        assert bool(((answer - truth).abs() < 5 * error + 2e-3).all())
