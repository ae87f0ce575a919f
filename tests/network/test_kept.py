"""Posteriors as files, and points that are added to them."""

import json
from functools import cache
from pathlib import Path

import pytest
import torch
from forked import run_forked
from network.tiny_networks import shaken
from torch.distributions import Distribution, Normal, Uniform

import priorfit as pf
from priorfit import zoo
from priorfit.data import Real
from priorfit.errors import CheckpointError, InputError, ShapeError
from priorfit.network import Model, TableSettings
from priorfit.network.kept import model_hash
from priorfit.seeding import seeded

pytestmark = pytest.mark.filterwarnings("ignore::priorfit.errors.OutsideTrainingWarning")
every_model = pytest.mark.parametrize("name", zoo.names())

REALS, LABELS = pf.Problem(2, pf.Real(), (0.0, 1.0)), pf.Problem(2, pf.Classes(2), (0.0, 1.0))
SETTINGS = {
    "layers": (pf.NetworkSettings(16, 2, 2, 16), REALS),
    "solver and layers": (pf.NetworkSettings(16, 1, 2, 16, solver=pf.LinearSolver(6, 2, 8)), REALS),
    "units of the context": (
        pf.NetworkSettings(16, 0, 2, 16, target_scaling="context", solver=pf.LinearSolver(6, 2, 8)),
        REALS,
    ),
    "solver of reals": (pf.NetworkSettings(16, 0, 2, 16, solver=pf.LinearSolver(6, 2, 8)), REALS),
    "solver with latents": (
        pf.NetworkSettings(16, 0, 2, 16, solver=pf.LatentSolver(pf.Harmonics(2), 2, 5, 3)),
        REALS,
    ),
    "solver of labels": (pf.NetworkSettings(16, 0, 2, 16, solver=pf.LinearSolver(4, 2, 8)), LABELS),
    "solver of classes": (
        pf.NetworkSettings(16, 0, 2, 16, solver=pf.ClassSolver(4, 2, 8)),
        pf.Problem(2, pf.Classes(3), (0.0, 1.0)),
    ),
    "regression of classes": (
        pf.NetworkSettings(16, 1, 2, 16, solver=pf.ClassRegression(4)),
        pf.Problem(2, pf.Classes(3), (0.0, 1.0)),
    ),
    "free units": (
        pf.NetworkSettings(16, 0, 2, 16, solver=pf.LinearSolver(6, 1, 8)),
        pf.Problem(3, pf.Real(), min_features=1, units="free", columns=pf.Columns()),
    ),
}
every_network = pytest.mark.parametrize("kind", SETTINGS)


@cache
def network(kind: str) -> Model:
    return shaken(*SETTINGS[kind])


def points(model: Model, n: int, batch: tuple[int, ...] = ()) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets that a model takes."""
    with seeded(0, n):
        columns = max(model.problem.fewest_features, min(model.problem.num_features, 3))
        x = torch.rand(*batch, n, columns)
        if isinstance(model.problem.outcome, Real):
            return x, torch.sin(5 * x[..., 0]) + 0.1 * torch.randn(*batch, n)
        return x, torch.randint(2, (*batch, n))


def numbers(ppd: Distribution) -> torch.Tensor:
    """All parameters of a distribution."""
    names = [name for name in ("loc", "scale", "borders", "logits") if name in vars(ppd)]
    return torch.cat([vars(ppd)[name].flatten().double() for name in names])


def again(posterior: pf.PFNPosterior, folder: Path, **options: bool) -> pf.PFNPosterior:
    posterior.save(folder / "fit", **options)
    return pf.load_posterior(folder / "fit")


@every_model
def test_a_released_model_answers_from_a_file_bit_for_bit_and_takes_more_points(name: str, tmp_path: Path):
    model = pf.load(name)
    x, y = points(model, 40)
    posterior = model.condition(x[:30], y[:30])
    loaded = again(posterior, tmp_path, points=True)
    assert {file.name for file in (tmp_path / "fit").iterdir()} == {"config.json", "context.safetensors"}
    whole = numbers(model.condition(x, y).predict(x[:5]))
    for each in (posterior, loaded):
        assert torch.equal(numbers(each.predict(x[30:])), numbers(posterior.predict(x[30:])))
        torch.testing.assert_close(numbers(each.add(x[30:], y[30:]).predict(x[:5])), whole, rtol=1e-5, atol=1e-5)
    assert torch.equal(numbers(again(posterior, tmp_path).predict(x)), numbers(posterior.predict(x)))


@every_network
@pytest.mark.parametrize(("n", "batch"), [(0, ()), (3, (2, 2)), (40, (3,))])
def test_every_kind_of_network_answers_from_a_file_bit_for_bit(
    kind: str, n: int, batch: tuple[int, ...], tmp_path: Path
):
    model = network(kind)
    x, y = points(model, n + 5, batch)
    posterior = model.condition(x[..., :n, :], y[..., :n])
    for options in ({}, {"points": True}, {"points": False}):
        loaded = again(posterior, tmp_path, **options)
        assert torch.equal(numbers(loaded.predict(x)), numbers(posterior.predict(x)))


@every_network
@pytest.mark.parametrize("n", [0, 3, 40])
def test_adding_points_is_conditioning_on_all_of_them(kind: str, n: int, tmp_path: Path):
    model = network(kind)
    x, y = points(model, n + 12, (2,))
    posterior = model.condition(x[:, :n], y[:, :n])
    for each in (posterior, again(posterior, tmp_path, points=True)):
        added = each.add(x[:, n : n + 2], y[:, n : n + 2]).add(x[:, n + 2 :], y[:, n + 2 :])
        expected = model.condition(x, y).predict(x[:, :4])
        torch.testing.assert_close(numbers(added.predict(x[:, :4])), numbers(expected), rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(added.joint_log_prob(x[:, :2], y[:, :2]).shape, torch.Size([2]))


@pytest.mark.parametrize("kind", ["solver of reals", "solver with latents"])
def test_a_solver_alone_takes_more_points_without_the_first_ones(kind: str, tmp_path: Path):
    model = network(kind)
    x, y = points(model, 60)
    loaded = again(model.condition(x[:40], y[:40]), tmp_path, points=False)
    added = loaded.add(x[40:], y[40:])
    expected = numbers(model.condition(x, y).predict(x[:4]))
    torch.testing.assert_close(numbers(added.predict(x[:4])), expected, rtol=1e-6, atol=1e-6)
    with pytest.raises(InputError, match="surprise reads the points of the context again"):
        added.surprise()


@pytest.mark.parametrize("kind", ["solver of reals", "solver with latents", "solver of labels", "solver of classes"])
def test_the_file_of_a_solver_alone_does_not_grow_with_the_context(kind: str, tmp_path: Path):
    model = network(kind)
    sizes = []
    for n in (2000, 4000):
        x, y = points(model, n)
        model.condition(x, y).save(tmp_path / "fit")
        sizes.append((tmp_path / "fit" / "context.safetensors").stat().st_size)
        assert sizes[-1] < (x.numel() + y.numel()) * 4
    assert abs(sizes[0] - sizes[1]) < 10  # of a header


def test_a_few_points_are_smaller_than_statistics_and_kept_in_their_place(tmp_path: Path):
    model = pf.load("gp-hyper-1d")
    x, y = points(model, 30)
    loaded = again(model.condition(x, y), tmp_path)
    assert (tmp_path / "fit" / "context.safetensors").stat().st_size < 1000
    assert float(loaded.surprise(draws=9).p_value) > 0


@pytest.mark.parametrize("name", ["refined", "joint_log_prob", "add", "sample_functions"])
def test_what_needs_the_points_says_so_where_they_were_not_kept(name: str, tmp_path: Path):
    x, y = points(network("layers"), 9)
    loaded = again(network("layers").condition(x, y), tmp_path, points=False)
    asked = {"joint_log_prob": (x, y), "add": (x, y), "sample_functions": (x, 2, True), "refined": ()}[name]
    expected = "needs the code of the prior" if name == "refined" else f"{name} reads the points of the context again"
    with pytest.raises(InputError, match=expected):
        getattr(loaded, name)(*asked)
    with pytest.raises(InputError, match="Save it with points=True, or condition"):
        loaded.save(tmp_path / "other", points=True)
    assert not (tmp_path / "other").exists()


@pf.prior(num_features=1, slope=Uniform(-1.0, 1.0), noise=Uniform(0.1, 0.2))
def lines(x, slope, noise):
    return Normal(slope * x[..., 0], noise)


def test_known_latents_and_a_prior_are_there_again(tmp_path: Path):
    model = pf.fit(lines, num_points=12, steps=2, progress=False, seed=0)
    with seeded(0):
        x, y = torch.rand(3, 8, 1), torch.rand(3, 8)
    posterior = model.condition(x, y, slope=[0.1, 0.2, 0.3])
    posterior.save(tmp_path / "fit")
    loaded = pf.load_posterior(tmp_path / "fit", prior=lines)
    assert torch.equal(numbers(loaded.predict(x)), numbers(posterior.predict(x)))
    assert torch.equal(loaded.latents["noise"].mean, posterior.latents["noise"].mean)
    torch.testing.assert_close(loaded.latents["slope"].mean, torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64))
    with seeded(0):
        first = posterior.refined(64).predict(x).mean
    with seeded(0):
        assert torch.equal(loaded.refined(64).predict(x).mean, first)
    both = numbers(loaded.add(x, y).predict(x))
    torch.testing.assert_close(both, numbers(posterior.add(x, y).predict(x)))


def test_a_table_network_of_ones_own_comes_back(tmp_path: Path):
    problem = pf.Problem(5, pf.Classes(4), min_features=1, units="free", missing=True, min_classes=2)
    with seeded(0):
        model = TableSettings(16, 2, 2, 16).build(problem).frozen()
    x = torch.randn(2, 20, 3)
    x[0, 3, 1] = torch.nan
    posterior = model.condition(x, torch.arange(20).remainder(3).expand(2, 20))
    assert torch.equal(numbers(again(posterior, tmp_path).predict(x)), numbers(posterior.predict(x)))


def test_another_process_answers_alike(tmp_path: Path):
    model = pf.load("gp-rbf-1d")
    x, y = points(model, 20)
    posterior = model.condition(x, y)
    posterior.save(tmp_path / "fit")
    script = (
        "import torch, priorfit as pf; torch.set_num_threads(1);"
        f"print(pf.load_posterior({str(tmp_path / 'fit')!r}).predict(torch.tensor([[0.25], [0.5]])).mean.tolist())"
    )
    out = run_forked(script)
    assert out.returncode == 0, out.stderr
    assert json.loads(out.stdout) == posterior.predict(torch.tensor([[0.25], [0.5]])).mean.tolist()


def test_the_weights_are_in_the_file_unless_they_are_released_ones(tmp_path: Path):
    model = pf.load("bnn-small")
    x, y = points(model, 20)
    with torch.no_grad():
        model.decoder.bias.add_(1.0)
    again(model.condition(x, y), tmp_path)
    assert (tmp_path / "fit" / "model.safetensors").exists()
    double = pf.load("bnn-small").double().condition(x, y)
    assert numbers(again(double, tmp_path).predict(x)).dtype == torch.float64
    assert torch.equal(numbers(again(double, tmp_path).predict(x)), numbers(double.predict(x)))


def test_the_hash_tells_weights_settings_and_units_apart():
    model = network("layers")
    hashes = {model_hash(each) for each in (model, network("solver of reals"), pf.load("bnn-small"))}
    free = network("free units")
    assert len(hashes | {model_hash(free), model_hash(free.in_model_units())}) == 5
    assert model_hash(pf.load("bnn-small")) == model_hash(pf.load("bnn-small"))


def edited(folder: Path, **changes: object) -> None:
    told = json.loads((folder / "config.json").read_text())
    told["model"].update(changes)
    (folder / "config.json").write_text(json.dumps(told))


def test_a_model_that_is_gone_or_another_one_is_said_to_be(tmp_path: Path):
    model = pf.load("bnn-small")
    x, y = points(model, 20)
    posterior = model.condition(x, y)
    folder = tmp_path / "fit"
    posterior.save(folder)
    with pytest.raises(CheckpointError, match="made by the model 'bnn-small' with the hash .* got 'bnn-large'"):
        pf.load_posterior(folder, model="bnn-large")
    edited(folder, name="gone")
    with pytest.raises(CheckpointError, match="released model 'gone', which this version of priorfit does not have"):
        pf.load_posterior(folder)
    loaded = pf.load_posterior(folder, model=model)
    assert torch.equal(numbers(loaded.predict(x)), numbers(posterior.predict(x)))
    edited(folder, name="bnn-small", sha256="0" * 64)
    with pytest.raises(CheckpointError, match="whose weights, settings or units differ"):
        pf.load_posterior(folder)


def test_a_folder_of_something_else_is_neither_read_nor_replaced(tmp_path: Path):
    model = network("layers")
    x, y = points(model, 5)
    model.save(tmp_path / "model")
    before = {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()}
    with pytest.raises(CheckpointError, match="holds a model or a training, not a posterior"):
        pf.load_posterior(tmp_path / "model")
    with pytest.raises(CheckpointError, match="which a posterior would replace"):
        model.condition(x, y).save(tmp_path / "model")
    assert {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()} == before
    model.condition(x, y).save(tmp_path / "fit")
    with pytest.raises(CheckpointError, match="was conditioned on data, not a model alone"):
        pf.load(tmp_path / "fit")


def test_points_of_other_datasets_or_columns_are_refused():
    model = network("solver of reals")
    x, y = points(model, 5, (3,))
    posterior = model.condition(x, y)
    with pytest.raises(ShapeError, match="x must have the batch shape of the context"):
        posterior.add(x[:2], y[:2])
    with pytest.raises(ShapeError, match="must have shape"):
        posterior.add(x[..., :1], y)
    with pytest.raises(InputError, match="NaN"):
        posterior.add(x, y * torch.nan)
