"""The entry point. It imports nothing heavy before it can answer Ctrl-C by one line."""

import sys


def run() -> None:
    """Run ``priorfit ARGUMENTS``: every error that a user can make or meet is one line and a non-zero exit."""
    try:
        from priorfit.cli.application import execute

        sys.exit(execute(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.stderr.write("stopped by Ctrl-C.\n")
        sys.exit(130)  # 128 + SIGINT, as shells do
