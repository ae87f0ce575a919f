"""Each fault is found, in several forms and over several seeds, and told in its own words."""

import pytest
import torch
from priors.checks.faulty_functions import (
    BATCH,
    BATCH_STATISTICS,
    IN_PLACE,
    LABELS_AS_REALS,
    ORDER,
    OTHER_INPUTS,
    REALS_AS_LABELS,
    SOUND,
    SOUND_LABELS,
    WHOLE_DATASET,
    WHOLE_DATASET_OF_LABELS,
    lines,
    made,
    made_of_labels,
)

from priorfit.data import Classes, Datasets, Real
from priorfit.errors import InputError, PriorError
from priorfit.priors import (
    Binarized,
    Empirical,
    GaussianProcess,
    Inputs,
    LinearRegression,
    Mixture,
    PaddedFeatures,
    Prior,
    Strokes,
    UniformInputs,
)
from priorfit.priors.checks import check_prior
from priorfit.priors.function import prior

SEEDS = (11, 12)


def over(*groups):
    forms = {name: form for group in groups for name, form in group.items()}
    return pytest.mark.parametrize("function", forms.values(), ids=forms.keys())


def faults(prior, seed=0, **sizes):
    """The faults found, which may be none."""
    try:
        check_prior(prior, seed=seed, **sizes)
    except PriorError as error:
        return str(error).split("\n  - ")[1:]
    return []


@over(ORDER)
def test_targets_that_depend_on_the_order_of_the_points_are_found(function):
    for seed in SEEDS:
        (fault,) = faults(made(function), seed)
        assert "the targets depend on the order of the points" in fault


@over(WHOLE_DATASET)
def test_targets_that_use_a_statistic_of_their_dataset_are_found(function):
    for seed in SEEDS:
        (fault,) = faults(made(function), seed)
        assert "the targets use a statistic of the whole dataset" in fault


@over(WHOLE_DATASET_OF_LABELS)
def test_labels_that_use_a_statistic_of_their_dataset_are_found(function):
    for seed in SEEDS:
        (fault,) = faults(made_of_labels(function), seed)
        # a cut at the mean also moves with the inputs of others, which may be seen first
        assert "the targets use a statistic of the whole dataset" in fault or "inputs of other points" in fault


@over(OTHER_INPUTS)
def test_targets_that_use_the_inputs_of_other_points_are_found(function):
    for seed in SEEDS:
        assert faults(made(function), seed)


def test_a_scale_of_the_inputs_of_a_dataset_is_told_as_such():
    (fault,) = faults(made(OTHER_INPUTS["standardised inputs"]))
    assert "change with the inputs of other points" in fault


@over(BATCH)
def test_targets_that_depend_on_the_size_of_the_batch_are_found(function):
    for seed in SEEDS:
        (fault,) = faults(made(function), seed)
        assert "batches of 16 datasets have other targets than batches of 64" in fault


@over(BATCH_STATISTICS)
def test_statistics_of_the_batch_are_found(function):
    for seed in SEEDS:
        (fault,) = faults(made(function), seed)
        assert "datasets of one batch make up for each other" in fault


@over(IN_PLACE)
def test_inputs_that_are_changed_in_place_are_found(function):
    for seed in SEEDS:
        (fault,) = faults(made(function), seed)
        assert "the inputs are changed in place" in fault


@over(LABELS_AS_REALS)
def test_labels_that_are_said_to_be_reals_are_found(function):
    for seed in SEEDS:
        (fault,) = faults(made(function), seed)
        assert "distinct values" in fault and "outcome=Classes(" in fault


@over(REALS_AS_LABELS)
def test_reals_that_are_said_to_be_labels_are_found(function):
    for seed in SEEDS:
        (fault,) = faults(made_of_labels(function), seed)
        assert "say outcome=Real()" in fault


@over(SOUND)
def test_a_sound_function_has_no_fault(function):
    for seed in SEEDS:
        assert faults(made(function), seed) == []


@over(SOUND_LABELS)
def test_sound_labels_have_no_fault(function):
    for seed in SEEDS:
        assert faults(made_of_labels(function), seed) == []


@pytest.mark.parametrize("num_points", [2, 3, 5])
def test_datasets_of_few_points_have_no_fault_by_themselves(num_points):
    assert faults(made(lines), num_points=num_points) == []
    assert faults(made_of_labels(lambda x: lines(x) > 0), num_points=num_points) == []


def test_a_leak_is_found_in_two_points_too():
    (fault,) = faults(made(WHOLE_DATASET["centred"]), num_points=2)
    assert "the targets use a statistic of the whole dataset" in fault


class SortedInputs(Inputs):
    range = (0.0, 1.0)

    def sample(self, batch_size, num_points, num_features):
        return UniformInputs().sample(batch_size, num_points, num_features).sort(dim=1).values


class Grid(Inputs):
    range = (0.0, 1.0)

    def sample(self, batch_size, num_points, num_features):
        return torch.linspace(0, 1, num_points)[:, None].repeat(batch_size, 1, num_features)


class Stratified(Inputs):
    """One in each cell of a grid, in random order: exchangeable, if not independent."""

    range = (0.0, 1.0)

    def sample(self, batch_size, num_points, num_features):
        cells = torch.rand(batch_size, num_points, num_features).argsort(1)
        return (cells + torch.rand(cells.shape)) / num_points


@pytest.mark.parametrize("inputs", [SortedInputs(), Grid()], ids=["sorted", "grid"])
def test_inputs_in_an_order_are_found_and_not_blamed_on_the_targets(inputs):
    (fault,) = faults(prior(num_features=1, inputs=inputs)(lines))
    assert "the inputs depend on the order of the points" in fault


def test_stratified_inputs_are_no_fault():
    assert faults(prior(num_features=2, inputs=Stratified())(lines)) == []


@pytest.mark.parametrize(
    "declared",
    [
        Binarized(GaussianProcess(), threshold="dataset_median"),
        PaddedFeatures(Binarized(LinearRegression(), threshold="dataset_median"), max_features=2),
        Mixture([Binarized(LinearRegression()), Binarized(LinearRegression(), threshold="dataset_median")]),
        Strokes(num_ways=2, num_shots=3, image_size=8),
        Empirical(torch.rand(2, 3, 4, 2), num_ways=3, num_shots=1),
    ],
    ids=lambda prior: type(prior).__name__,
)
def test_whoever_declares_to_use_the_whole_dataset_is_let_pass_and_named(declared):
    assert declared.uses_whole_dataset
    assert "its targets use the whole dataset" in str(check_prior(declared, num_points=8))


def test_no_other_prior_declares_it():
    for plain in (Binarized(GaussianProcess()), Strokes(), Mixture([GaussianProcess()]), made(lines)):
        assert not plain.uses_whole_dataset


class MedianCut(Prior):
    """What a user would write who means it."""

    num_features = 1
    inputs = UniformInputs()
    outcome = Classes(2)
    uses_whole_dataset = True

    def draw(self, x):
        return Datasets(x, WHOLE_DATASET_OF_LABELS["cut at the median"](x).to(x.dtype))


class Undeclared(MedianCut):
    uses_whole_dataset = False


def test_a_declaration_in_a_class_of_ones_own_counts():
    assert faults(MedianCut()) == []
    assert "whole dataset" in faults(Undeclared())[0]


def test_targets_without_inputs_are_noted():
    report = check_prior(made(lambda x: torch.randn(len(x), 1) + torch.randn(x.shape[:2])))
    assert report.notes == ("its targets do not depend on x: the same seed gives the same targets at other inputs.",)
    assert check_prior(made(lines)).notes == ()
    assert check_prior(Strokes(num_ways=2, image_size=8), num_points=8).notes == ()


class NumPoints(Prior):
    """Always ten points, or a number that varies."""

    num_features = 1
    inputs = UniformInputs()
    outcome = Real()

    def __init__(self, num_points):
        self.num_points = num_points

    def draw(self, x):
        x = x[:, : self.num_points(x)]
        return Datasets(x, lines(x))


@pytest.mark.parametrize("num_points", [lambda x: 10, lambda x: 8 + int(torch.randint(3, ()))], ids=["ten", "random"])
def test_another_number_of_points_than_asked_for_is_found(num_points):
    assert "must have shape" in faults(NumPoints(num_points), num_points=10)[0]


def test_a_batch_of_one_dataset_must_work_too():
    squeezed = made(lambda x: lines(x).squeeze(0))
    assert "for x of shape (1, 32, 1); got (32,)" in faults(squeezed)[0]


def test_an_error_inside_of_the_function_is_told_with_its_cause():
    with pytest.raises(PriorError, match="drawing 64 datasets of 32 points fails with IndexError") as caught:
        check_prior(made(lambda x: x[..., 1]))
    assert isinstance(caught.value.__cause__, IndexError)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lines, r"got the function lines. Decorate it: @pf.prior\(num_features=...\)"),
        (GaussianProcess, r"got the class GaussianProcess. Make one: GaussianProcess\(...\)"),
        ("gp-rbf-1d", "needs a prior, such as .* got 'gp-rbf-1d'"),
        (None, "got None"),
    ],
)
def test_what_is_no_prior_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        check_prior(wrong)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("sizes", [{"num_points": 8.5}, {"batch_size": "64"}, {"num_batches": None}, {"seed": 0.5}])
def test_sizes_are_whole_numbers(sizes):
    (name,) = sizes
    with pytest.raises(InputError, match=f"{name} of check_prior must be a whole number; got"):
        check_prior(made(lines), **sizes)


def test_a_negative_seed_is_refused():
    with pytest.raises(InputError, match="seed >= 0; got 32, 64, 24 and -1"):
        check_prior(made(lines), seed=-1)
