import pytest


@pytest.fixture(autouse=True)
def commands_without_the_checks_of_the_tests(as_users_run_it: None) -> None:
    """Commands are run whole, as users run them; the tests of the other folders check the shapes below them."""
