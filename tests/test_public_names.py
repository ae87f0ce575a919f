import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from forked import run_forked

import priorfit as pf
from priorfit import public
from priorfit.values import HasArray

PUBLIC = {
    "AdjustedGuessHead",
    "ArchitecturePrior",
    "Batch",
    "BayesianNetwork",
    "BetaBernoulli",
    "Binarized",
    "Budget",
    "CategoricalFeatures",
    "CellSolver",
    "ClassRegression",
    "ClassSolver",
    "Classes",
    "Columns",
    "ContextSizes",
    "ConvolutionEncoder",
    "CorrectedMixtureHead",
    "Curves",
    "DataSettings",
    "Datasets",
    "Display",
    "Distorted",
    "Distortion",
    "EarlyStop",
    "Empirical",
    "FewShot",
    "FourierEncoder",
    "GaussianProcess",
    "Harmonics",
    "HeadSettings",
    "HyperGaussianProcess",
    "ImageEncoder",
    "InputEncoder",
    "KernelSolver",
    "LatentSolver",
    "LinearEncoder",
    "LinearRegression",
    "LinearSolver",
    "LogUniformSizes",
    "ManyFunctions",
    "Mixture",
    "Model",
    "ModelCard",
    "ModelSettings",
    "NetworkSettings",
    "NoEncoder",
    "NormalHead",
    "NormalInputs",
    "NormalMixtureHead",
    "NormalisedEncoder",
    "Objectives",
    "OptimiserSettings",
    "PFN",
    "PFNPosterior",
    "PaddedFeatures",
    "PaperSizes",
    "PolynomialEncoder",
    "Posterior",
    "PowerSizes",
    "Predictor",
    "Prior",
    "PriorReport",
    "Problem",
    "Real",
    "Recipe",
    "Report",
    "ResampledTables",
    "RiemannHead",
    "RunOptions",
    "SigmoidHead",
    "SoftmaxHead",
    "SolverSettings",
    "StepSolver",
    "Stage",
    "Standardized",
    "Strokes",
    "Surprise",
    "TableNetwork",
    "TableSettings",
    "Tables",
    "TemperedHead",
    "UniformInputs",
    "UniformSizes",
    "WeightedFeatures",
    "baselines",
    "check_prior",
    "distributions",
    "exact",
    "finetune",
    "fit",
    "load",
    "load_posterior",
    "metrics",
    "prior",
    "priors",
    "read_recipe",
    "seeded",
    "train",
    "verify",
}


def test_the_public_names_are_these():
    """A change of this list is an entry of the changelog."""
    files = {path.stem for path in Path(pf.__file__).parent.iterdir()} - PUBLIC
    put_there_by_the_tests = {"jaxtyping"}
    found = {name for name in dir(pf) if not name.startswith("_")}
    assert found - files - put_there_by_the_tests == PUBLIC


def test_plots_are_loaded_when_they_are_asked_for():
    assert pf.plots.plot_predictive is not None


def test_verify_is_the_function_whatever_was_imported_before():
    """A folder has the same name: importing a file of it must not hide the function."""
    code = "import priorfit.verify.check, priorfit; print(callable(priorfit.verify), priorfit.verify.__module__)"
    done = run_forked(code)
    assert done.stdout.split() == ["True", "priorfit.verify.report"]


def test_a_name_that_does_not_exist_is_an_attribute_error():
    assert not hasattr(pf, "nonsense")


@pytest.mark.parametrize("extra", ["estimators", "plots", "tables"])
def test_dir_shows_what_an_extra_brings_beside_all_other_names(extra: str):
    assert extra in dir(pf)
    assert set(dir(pf)) >= PUBLIC


ROOMS = (public, pf.baselines, pf.distributions, pf.metrics, pf.network, pf.priors, pf.training)
MADE_FOR_THE_USER = {"PFNPosterior", "PriorReport", "Report", "Surprise"}  # nobody else calls their constructors
FULFILLED_UNNAMED = {HasArray}  # arrays and frames are of this protocol by themselves


def callables() -> Iterator[tuple[str, Any]]:
    """All functions, constructors, methods and properties that a user sees."""
    for name in sorted(PUBLIC):
        found = getattr(pf, name)
        if inspect.isfunction(found):
            yield name, found
        if inspect.isclass(found):
            if name not in MADE_FOR_THE_USER:
                yield name, found.__init__
            for part, member in vars(found).items():
                inner = member.fget if isinstance(member, property) else member
                if not part.startswith("_") and inspect.isfunction(inner):
                    yield f"{name}.{part}", inner


def classes_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and hint.__module__.startswith("priorfit"):
        yield hint
    for part in get_args(hint):
        yield from classes_in(part)


def test_what_a_public_signature_names_is_exported():
    exported = {value for room in ROOMS for value in vars(room).values() if isinstance(value, type)}
    named = {
        (name, kind)
        for name, each in callables()
        for hint in get_type_hints(each, localns=vars(pf.network)).values()
        for kind in classes_in(hint)
    }
    assert len(named) > 40
    assert {(name, kind) for name, kind in named if kind not in exported | FULFILLED_UNNAMED} == set()
