import os
from pathlib import Path

import numpy as np
import pytest
import torch
from contracts import test_priors as contract
from scipy.stats import chisquare

from priorfit.description import build, describe
from priorfit.errors import InputError, RecipeError, ShapeError
from priorfit.priors import PRIORS, Empirical
from priorfit.priors.translation import margins, translated
from priorfit.seeding import seeded

GROUPS, CLASSES, EXAMPLES = 3, 6, 4


def numbered():
    """Examples of one feature that says which they are: group, class and example, one digit each."""
    group, label, example = torch.meshgrid(
        torch.arange(GROUPS), torch.arange(CLASSES), torch.arange(EXAMPLES), indexing="ij"
    )
    return (100 * group + 10 * label + example)[..., None].float()


def digits(datasets):
    number = datasets.x[..., 0].long()
    return number // 100, number // 10 % 10, number % 10


def dots():
    """Images of 9 x 7 with two pixels each, in rows 3 and 4 and columns 2 and 3, of values that say which they are."""
    images = torch.zeros(1, 2, 5, 9, 7, dtype=torch.uint8)
    values = torch.arange(1, 11, dtype=torch.uint8).reshape(1, 2, 5)
    images[..., 3, 2] = values
    images[..., 4, 3] = values
    return images


@pytest.mark.parametrize(
    "name",
    [
        "every_draw_has_a_conditional_or_none_has",
        "a_sample_has_the_shape_dtype_and_values_it_should",
        "targets_follow_the_dtype_of_given_inputs",
        "inputs_lie_in_the_range_that_the_prior_says",
        "one_seed_gives_one_sample_and_another_seed_another",
        "datasets_at_the_same_inputs_differ",
        "points_are_exchangeable",
        "check_prior_finds_no_fault",
    ],
)
@pytest.mark.parametrize(
    "prior",
    [Empirical(numbered()), Empirical(numbered(), num_ways=3, num_shots=8), Empirical(dots(), 2, max_shift=2)],
    ids=["features", "shots", "images"],
)
def test_the_contract_of_priors_holds(prior, name):
    getattr(contract, f"test_{name}")(prior)


def test_a_dataset_has_one_group_and_one_class_for_each_label():
    with seeded(0):
        datasets = Empirical(numbered(), num_ways=4).sample(batch_size=200, num_points=40)
    group, label, _ = digits(datasets)
    assert (group == group[:, :1]).all()
    for classes, y in zip(label, datasets.y.long(), strict=True):
        pairs = torch.stack([classes, y]).unique(dim=1)
        assert pairs.shape[1] == len(classes.unique()) == len(y.unique())


def test_groups_and_classes_are_uniform_and_labelled_anew_in_each_dataset():
    with seeded(1):
        datasets = Empirical(numbered(), num_ways=4).sample(batch_size=3_000, num_points=1)
    group, label, example = digits(datasets)
    for values, count in ((group, GROUPS), (label, CLASSES), (example, EXAMPLES), (datasets.y.long(), 4)):
        assert chisquare(values.flatten().bincount(minlength=count)).pvalue > 1e-3
    together = 6 * datasets.y.long() + label
    assert chisquare(together.flatten().bincount(minlength=24)).pvalue > 1e-3


def test_an_example_comes_again_only_after_all_others_of_its_class():
    with seeded(2):
        datasets = Empirical(numbered(), num_ways=2).sample(batch_size=100, num_points=20)
    number = datasets.x[..., 0]
    for x, y in zip(number, datasets.y, strict=True):
        for label in (0, 1):
            drawn = x[y == label]
            for begin in range(0, len(drawn), EXAMPLES):
                cycle = drawn[begin : begin + EXAMPLES]
                assert len(cycle.unique()) == len(cycle)


def test_shots_come_first():
    y = Empirical(numbered(), num_ways=5, num_shots=2).sample(batch_size=30, num_points=13).y.int()
    assert all(labels.bincount().tolist() == [2] * 5 for labels in y[:, :10])


def test_bytes_become_shares_of_one_and_other_numbers_stay():
    examples = torch.full((1, 2, 1, 1, 2), 51, dtype=torch.uint8)
    assert Empirical(examples, num_ways=2).inputs.range == (0.0, 1.0)
    assert (Empirical(examples, num_ways=2).sample(1, 3).x == 0.2).all()
    real = Empirical(numbered().double() - 7)
    assert real.inputs.range == (-7.0, 246.0)
    assert real.sample(1, 3).x.dtype == torch.float32


def test_images_are_moved_without_change_as_far_as_their_ink_stays_inside():
    with seeded(3):
        datasets = Empirical(dots(), num_ways=2, max_shift=3).sample(batch_size=400, num_points=10)
    images = (datasets.x * 255).round().unflatten(-1, (9, 7)).flatten(0, 1)
    assert ((images > 0).sum((1, 2)) == 2).all()
    row = (images > 0).any(2).int().argmax(1)  # of the upper pixel
    column = (images > 0).any(1).int().argmax(1)
    at = torch.arange(len(images))
    assert torch.equal(images[at, row, column], images[at, row + 1, column + 1])
    label = (images.amax((1, 2)).long() - 1) // 5
    assert len(label.unique()) == 2
    assert chisquare(row.bincount(minlength=7)).pvalue > 1e-3  # from 3 - 3 to 3 + 3
    assert chisquare(column.bincount(minlength=6)).pvalue > 1e-3  # from 2 - 2 to 2 + 3, the right border
    assert (row.min(), row.max(), column.min(), column.max()) == (0, 6, 0, 5)


def test_every_image_is_moved_by_its_own_way():
    with seeded(4):
        image = torch.zeros(50, 5, 5)
        image[:, 2, 2] = 1
        moved = translated(image, margins(image).clamp(max=1))
    assert len(moved.unique(dim=0)) == 9
    assert (moved.sum((1, 2)) == 1).all()
    assert torch.equal(margins(image)[0], torch.tensor([2, 2, 2, 2]))
    assert torch.equal(margins(torch.zeros(1, 3, 3)), torch.zeros(1, 4, dtype=torch.int64))


def test_tables_may_have_classes_of_any_number_and_size():
    few = torch.tensor([[1.0], [2.0], [2.5], [3.0]]), torch.tensor([7, 8, 8, 9])
    many = torch.arange(10.0, 30.0)[:, None], torch.arange(20) % 4
    prior = Empirical.from_tables([few, many], num_ways=3)
    assert prior.counts is not None
    assert prior.counts.tolist() == [[1, 2, 1, 0], [5, 5, 5, 5]]
    with seeded(5):
        datasets = prior.sample(batch_size=300, num_points=12)
    assert set(datasets.x.flatten().tolist()) == {1.0, 2.0, 2.5, 3.0, *range(10, 30)}
    for x, y in zip(datasets.x[..., 0], datasets.y, strict=True):
        known = torch.where(x < 10, x.round(), 4 + x % 4)  # the class: 2.5 rounds to 2
        assert len(torch.stack([known, y]).unique(dim=1)[0]) == len(y.unique())


def test_tables_of_images_keep_their_form():
    prior = Empirical.from_tables([(dots().flatten(0, 2), torch.arange(10) // 5)], num_ways=2, max_shift=1)
    assert prior.examples.shape == (1, 2, 5, 9, 7)
    assert prior.sample(2, 3).x.shape == (2, 3, 63)


def test_a_description_is_a_short_text_that_nothing_is_built_from():
    prior = Empirical(numbered(), num_shots=5, name="numbers")
    expected = {"type": "Empirical", "num_ways": 5, "num_shots": 5, "max_shift": 0, "name": "numbers"}
    assert describe(prior) == expected
    assert str(prior) == "numbers"
    assert len(repr(prior)) < 100
    with pytest.raises(RecipeError, match="an? Empirical cannot be built from its description.*numbers"):
        build(describe(prior), PRIORS)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"examples": torch.rand(5, 20, 28)}, ShapeError, r"got \(5, 20, 28\).*give examples\[None\]"),
        ({"examples": torch.rand(1, 5, 0, 3)}, ShapeError, "none of them 0"),
        ({"examples": torch.full((1, 5, 2, 3), torch.nan)}, InputError, "examples must be finite"),
        ({"examples": torch.ones(1, 5, 2, 3)}, InputError, "examples must differ; got 1 everywhere"),
        ({"examples": numbered(), "max_shift": 1}, InputError, "max_shift must be at least 0, and 0 unless"),
        ({"examples": numbered(), "num_ways": 7}, InputError, "at least num_ways = 7 classes; got one of 6"),
        ({"examples": numbered(), "num_shots": 0}, InputError, "num_shots must be at least 1"),
        ({"examples": numbered(), "counts": torch.full((3, 6), 5)}, InputError, r"values in 0 \.\.\. 4; got shape"),
        ({"examples": numbered(), "counts": torch.ones(3, 2).long()}, InputError, r"\(groups, classes\) = \(3, 6\)"),
    ],
)
def test_examples_that_make_no_sense_are_refused(arguments, error, words):
    with pytest.raises(error, match=words):
        Empirical(**arguments)


@pytest.mark.parametrize("tables", [[], [(torch.rand(4, 2), torch.arange(4)), (torch.rand(4, 3), torch.arange(4))]])
def test_tables_of_several_sizes_are_refused(tables):
    with pytest.raises(ShapeError, match="rows of one size"):
        Empirical.from_tables(tables)


@pytest.fixture
def omniglot():
    folder = os.environ.get("PRIORFIT_DATA")
    if folder is None:
        pytest.skip("PRIORFIT_DATA names no folder with omniglot/omniglot_first5.npz")
    return np.load(Path(folder) / "omniglot" / "omniglot_first5.npz")


def test_tasks_of_omniglot_are_easier_than_chance_by_the_nearest_neighbour(omniglot):
    letters = torch.from_numpy(omniglot["images"][~omniglot["is_background"]])
    with seeded(6):
        tasks = Empirical(letters, num_shots=5, name="omniglot").sample(batch_size=200, num_points=30).split(25)
    nearest = torch.cdist(tasks.query_x, tasks.context_x).argmin(-1)
    accuracy = (tasks.context_y.gather(1, nearest) == tasks.query_y).double().mean()
    assert 0.4 < accuracy < 0.9


def test_letters_of_omniglot_keep_their_ink_when_they_move(omniglot):
    letters = torch.from_numpy(omniglot["images"][omniglot["is_background"]])
    with seeded(7):
        moved = Empirical(letters, max_shift=28).sample(batch_size=100, num_points=25).x
    amounts = (letters.flatten(3).flatten(0, 2).long()).sum(-1).unique()
    assert torch.isin((moved * 255).round().long().sum(-1), amounts).all()
