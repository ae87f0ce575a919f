import pytest
from forked import run_forked

from priorfit.errors import MissingExtraError
from priorfit.extras import needs_extra

WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
import priorfit.errors
try:
    import priorfit.plots
except priorfit.errors.MissingExtraError as error:
    assert "pip install 'priorfit[plots]'" in str(error), error
else:
    raise SystemExit("imported without matplotlib")
"""


def test_plots_without_matplotlib_say_what_to_install() -> None:
    done = run_forked(WITHOUT_MATPLOTLIB)
    assert done.returncode == 0, done.stderr


def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(ZeroDivisionError), needs_extra("plots"):
        _ = 1 / 0


def test_a_missing_package_names_itself_and_its_extra() -> None:
    with pytest.raises(MissingExtraError, match=r"'nowhere'.*pip install 'priorfit\[plots\]'"), needs_extra("plots"):
        raise ModuleNotFoundError(name="nowhere")
