"""Models inside of other libraries: each needs its own extra."""
