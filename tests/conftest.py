from hypothesis import settings

# The same examples each run, and no verdict by the clock: machines of CI are slow and noisy.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")
