"""Scripts that measure priorfit; each is run from the root, as `python benchmarks/speed/training_step.py`."""
