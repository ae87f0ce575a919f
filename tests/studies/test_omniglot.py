import json
from pathlib import Path

import numpy as np
import pytest
import torch


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from omniglot_tiny import write_tiny_omniglot  # pyright: ignore[reportMissingImports]

    return write_tiny_omniglot(tmp_path_factory.mktemp("data"))


@pytest.fixture
def data(folder: Path):
    from omniglot_data import omniglot  # pyright: ignore[reportMissingImports]

    return omniglot(folder)


def test_the_papers_tasks_are_drawings_one_to_five_and_six_to_twenty(data):
    tasks = data.paper("evaluation", shots=5)
    assert tasks.context_x.shape == (4, 25, 784) and tasks.query_x.shape == (4, 75, 784)
    first = data.first_five[data.alphabets("evaluation")[2]].flatten(2).float() / 255  # (characters, drawers, pixels)
    torch.testing.assert_close(tasks.context_x[2, 7], first[1, 2])
    torch.testing.assert_close(tasks.query_x[2, 16], first[1, 6])
    assert tasks.query_y[2, 16] == 1
    one = data.paper("evaluation", shots=1)
    assert one.context_x.shape == (4, 5, 784)
    torch.testing.assert_close(one.query_x, tasks.query_x)


def test_no_alphabet_is_in_two_parts_and_nothing_is_chosen_on_evaluation_alphabets(data):
    parts = [set(data.alphabets(part).tolist()) for part in ("training", "left-out", "evaluation")]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 12
    assert set(data.alphabets("background").tolist()) == parts[0] | parts[1]


def test_context_and_queries_of_a_random_task_are_different_drawings(data):
    for tasks in (data.random("evaluation", 5, 5, 3, seed=0), data.pacoh("evaluation", 5, seed=0)):
        same = (tasks.context_x[:, :, None] == tasks.query_x[:, None]).all(-1)
        assert not bool(same.any())
        assert all(label.unique().tolist() == [0, 1, 2, 3, 4] for label in tasks.query_y)


def test_pacohs_split_is_that_of_its_seed(data):
    order = list(range(12))
    np.random.RandomState(123).shuffle(order)
    assert set(data.pacoh("evaluation", 5, seed=0).groups.tolist()) == set(order[7:])


def test_a_full_alphabet_is_in_the_order_of_characters_and_drawers(data):
    for alphabet, characters in enumerate(data.characters):
        assert torch.equal(characters[:5], data.first_five[alphabet])


def test_ridge_scores_are_those_of_scikit_learn(data):
    from omniglot_methods import RIDGE, orientation_maps, ridge  # pyright: ignore[reportMissingImports]
    from sklearn.linear_model import Ridge

    tasks = data.paper("evaluation", shots=5)
    found = ridge(orientation_maps, tasks)
    context, query = orientation_maps(tasks.context_x)[1].numpy(), orientation_maps(tasks.query_x)[1].numpy()
    expected = Ridge(alpha=RIDGE, fit_intercept=False).fit(context, np.eye(5)[tasks.context_y[1]]).predict(query)
    np.testing.assert_allclose(found[1].numpy(), expected, atol=1e-3)


def test_the_nearest_image_decides(data):
    from omniglot_methods import nearest, pixels  # pyright: ignore[reportMissingImports]
    from sklearn.neighbors import KNeighborsClassifier

    tasks = data.paper("evaluation", shots=5)
    context, query = (pixels(x)[0].numpy() for x in (tasks.context_x, tasks.query_x))
    expected = KNeighborsClassifier(1).fit(context, tasks.context_y[0]).predict(query)
    assert (nearest(pixels, tasks)[0].argmax(-1).numpy() == expected).mean() > 0.97  # ties


def test_the_temperature_is_that_of_least_log_loss():
    from omniglot_methods import fitted_temperature  # pyright: ignore[reportMissingImports]

    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(1, 20_000, 3, generator=generator)
    labels = torch.multinomial((4 * scores[0]).softmax(-1), 1, generator=generator).T
    assert fitted_temperature(scores, labels) == pytest.approx(4.0, rel=0.05)


def test_standard_errors_are_over_alphabets():
    import omniglot  # pyright: ignore[reportMissingImports]

    assert omniglot.error([0.0, 0.0, 1.0, 1.0], [0, 0, 1, 1]) == pytest.approx(0.5)


def test_the_script_keeps_rows_and_does_nothing_twice(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import omniglot  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(omniglot, "BUILD", tmp_path)
    arguments = ["--quick", "--data", str(folder), "--prototype-steps", "3"]
    omniglot.main(arguments)
    first = capsys.readouterr().out
    rows = (tmp_path / "quick" / "results" / "omniglot.jsonl").read_text(encoding="utf-8")
    assert len(rows.splitlines()) == 8 * 3
    assert all(0 <= value <= 1 for row in map(json.loads, rows.splitlines()) for value in row["found"]["accuracy"])

    def refuse(*_: object) -> None:
        raise AssertionError("this was computed before")

    monkeypatch.setattr(omniglot, "scored", refuse)
    omniglot.main(arguments)
    assert capsys.readouterr().out == first


def test_a_folder_without_data_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from omniglot_data import omniglot  # pyright: ignore[reportMissingImports]

    with pytest.raises(SystemExit, match="omniglot_first5.npz is missing"):
        omniglot(tmp_path)
    monkeypatch.delenv("PRIORFIT_DATA", raising=False)
    with pytest.raises(SystemExit, match="--data or by the environment"):
        omniglot(None)


def test_models_that_differ_in_their_seed_have_a_line_of_their_means():
    import omniglot  # pyright: ignore[reportMissingImports]

    def row(method: str, value: float) -> dict:
        scores = {"accuracy": [value, 1.0], "log_loss": [0.0, value], "ece": value, "ece_floor": 0.0}
        return {"method": method} | scores

    rows = [row("ridge", 0.1), row("model build/tuned-0/model", 0.2), row("model build/tuned-1/model", 0.4)]
    (mean,) = omniglot.means_over_seeds(rows)
    assert mean["method"] == "mean of 2 models tuned"
    assert mean["accuracy"] == pytest.approx([0.3, 1.0]) and mean["ece"] == pytest.approx(0.3)


def test_a_model_is_fine_tuned_scored_and_shown(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import omniglot_finetune  # pyright: ignore[reportMissingImports]
    import omniglot_pictures  # pyright: ignore[reportMissingImports]
    from omniglot import Protocol, scored  # pyright: ignore[reportMissingImports]
    from omniglot_data import omniglot  # pyright: ignore[reportMissingImports]
    from omniglot_methods import of_model  # pyright: ignore[reportMissingImports]

    import priorfit as pf

    network = pf.NetworkSettings(8, 1, 1, 8, pf.NoEncoder(), solver=pf.ClassRegression(16, pf.ImageEncoder(stride=4)))
    prior = pf.FewShot(pf.Curves(num_ways=5), count=6)
    few = pf.DataSettings(batch_size=2, num_queries=3, context_sizes=pf.UniformSizes(2))
    pf.train(pf.Recipe(prior, 26, pf.Budget(steps=1), network=network, data=few)).save(tmp_path / "drawn")
    arguments = [
        "--data",
        str(folder),
        "--from",
        str(tmp_path / "drawn"),
        "--folder",
        str(tmp_path / "run"),
        "--steps=2",
    ]
    omniglot_finetune.main(arguments)
    tuned = pf.load(tmp_path / "run" / "model")
    assert tuned.card.training["left_out"]["readings"] == 3 and tuned.problem.min_classes == 2
    method = of_model(str(tmp_path / "run" / "model"))
    found = scored(method, Protocol("paper", 5, 5), omniglot(folder), "left-out", seed=0)
    assert len(found["accuracy"]) == 6 and np.mean(found["accuracy"]) > 0.3

    monkeypatch.setattr(omniglot_pictures, "BUILD", tmp_path)
    omniglot_pictures.main(["--quick", "--data", str(folder), "--model", str(tmp_path / "run" / "model")])
    for name in ("omniglot_priors", "omniglot_gallery"):
        assert (tmp_path / "quick" / "figures" / f"{name}.png").exists()
