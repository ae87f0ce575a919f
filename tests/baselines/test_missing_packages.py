"""A baseline whose package is not installed says how to get it."""

import json

from forked import run_forked

TREES = ["TunedCatBoost", "TunedXGBoost"]
MISSING = {
    "sklearn": ["TunedLogistic", "TunedKNN", "TunedGP", "TunedBNN", *TREES],
    "catboost": ["TunedCatBoost"],
    "xgboost": ["TunedXGBoost"],
    "pyro": ["TunedBNN", "SviBNN", "NutsBNN", "NutsGP(HyperGaussianProcess(), backend='pyro')"],
    "jax": ["NutsBNN"],
    "numpyro": ["NutsGP(HyperGaussianProcess(), backend='numpyro')"],
    "botorch": ["MLE2GP"],
}

WITHOUT = """
import json, os, sys
import priorfit.baselines
from priorfit.errors import MissingExtraError
from priorfit.priors import HyperGaussianProcess

def check(package, expression):
    try:
        eval("priorfit.baselines." + expression)
    except MissingExtraError as error:
        assert f"'{package}" in str(error) and "pip install 'priorfit[baselines]'" in str(error), error
    else:
        raise SystemExit(f"{expression} was loaded without {package}")

for package, expressions in json.loads(sys.argv[1]).items():
    child = os.fork()
    if not child:
        sys.modules[package] = None
        for expression in expressions:
            check(package, expression)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, package
    print(package, end=" ")
"""


def test_a_missing_package_is_told_with_the_extra_that_brings_it():
    done = run_forked(WITHOUT, json.dumps(MISSING))
    assert done.returncode == 0 and done.stdout.split() == list(MISSING), done.stderr
