import subprocess
import sys
from pathlib import Path

import priorfit as pf

PUBLIC = {
    "ArchitecturePrior",
    "Batch",
    "BayesianNetwork",
    "BetaBernoulli",
    "Binarized",
    "Classes",
    "Datasets",
    "Empirical",
    "FourierEncoder",
    "GaussianProcess",
    "HyperGaussianProcess",
    "LinearEncoder",
    "LinearRegression",
    "Mixture",
    "NetworkSettings",
    "NormalHead",
    "NormalInputs",
    "NormalMixtureHead",
    "PFN",
    "PaddedFeatures",
    "Posterior",
    "Predictor",
    "Prior",
    "Real",
    "Recipe",
    "RiemannHead",
    "SigmoidHead",
    "SoftmaxHead",
    "Standardized",
    "Strokes",
    "UniformInputs",
    "WeightedFeatures",
    "baselines",
    "check_prior",
    "distributions",
    "exact",
    "fit",
    "load",
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "priorfit.verify.report"]


def test_a_name_that_does_not_exist_is_an_attribute_error():
    assert not hasattr(pf, "nonsense")
