from forked import run_forked

import priorfit as pf

WITHOUT_SKLEARN = """
import sys
sys.modules["sklearn"] = None
import priorfit as pf
try:
    pf.estimators
except pf.errors.MissingExtraError as error:
    assert "pip install 'priorfit[sklearn]'" in str(error), error
else:
    raise SystemExit("loaded without scikit-learn")
"""


def test_estimators_without_scikit_learn_say_what_to_install() -> None:
    done = run_forked(WITHOUT_SKLEARN)
    assert done.returncode == 0, done.stderr


def test_estimators_are_loaded_when_they_are_asked_for() -> None:
    assert pf.estimators.PFNRegressor is not None
