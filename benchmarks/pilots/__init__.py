"""Short trainings that decide between designs, and their tables."""
