"""Seconds, operations and memory, beside peers, as ratios of one run."""
