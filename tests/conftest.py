import jaxtyping
import pytest
from hypothesis import settings

# The same examples each run, and no verdict by the clock: machines of CI are slow and noisy.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


@pytest.fixture
def as_users_run_it():
    """Without the shape checks of the tests, which would speak before the library does."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
