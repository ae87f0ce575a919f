"""``python -m priorfit`` and ``torchrun -m priorfit`` are the command line."""

from priorfit.cli.main import run

run()
