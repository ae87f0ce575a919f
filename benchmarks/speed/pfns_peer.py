"""The published `pfns` package, in an environment of its own, since it pins black and pytest.

python benchmarks/speed/pfns_peer.py        makes build/venv-pfns, once: about 1.3 GB, two minutes
"""

import json
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

from benchmarks.speed.flops import Sizes

ROOT = Path(__file__).parents[2]
ENVIRONMENT = ROOT / "build" / "venv-pfns"
PYTHON = ENVIRONMENT / ("Scripts" if sys.platform == "win32" else "bin") / "python"
READY = ENVIRONMENT / "ready"
WORKER = Path(__file__).with_name("pfns_worker.py")
TRAINING_WORKER = Path(__file__).with_name("pfns_training_worker.py")
PACKAGE = "pfns==0.4.2"
IMPORTED = ("torch", "numpy", "scipy", "scikit-learn", "matplotlib", "einops", "tqdm", "pyyaml", "tensorboard")
"""What importing its network and its loop needs; torch and others in the versions of constraints.txt, as ours."""


def is_available() -> bool:
    """Whether the environment is there and complete."""
    return READY.exists()


def make_environment() -> None:
    """Create the environment, unless it is there."""
    if is_available():
        return
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    install = [str(PYTHON), "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, "--constraint", str(ROOT / "constraints.txt"), *IMPORTED], check=True)
    subprocess.run([*install, "--no-deps", PACKAGE], check=True)
    READY.touch()


class PeerWorker:
    """A process that takes one training step of `pfns` each time it is asked."""

    def __init__(self, sizes: Sizes, threads: int, seed: int) -> None:
        self._process = subprocess.Popen(
            [str(PYTHON), str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.parameters = int(self._ask({**asdict(sizes), "threads": threads, "seed": seed})["parameters"])

    def step_seconds(self) -> float:
        """The seconds of one more step."""
        return self._ask({})["seconds"]

    def _ask(self, request: dict[str, int]) -> dict[str, float]:
        requests, replies = _open(self._process.stdin), _open(self._process.stdout)
        requests.write(json.dumps(request) + "\n")
        requests.flush()
        reply = replies.readline()
        if not reply:
            raise RuntimeError(f"the worker of {PACKAGE} ended: {_open(self._process.stderr).read()}")
        return json.loads(reply)

    def close(self) -> None:
        """End the process, which stops where its requests do."""
        self._process.communicate()


def train_and_answer(request: dict[str, Any]) -> dict[str, float]:
    """What `pfns_training_worker` says when it has trained; its answers are in the file that the request names."""
    worker = [str(PYTHON), str(TRAINING_WORKER)]
    done = subprocess.run(worker, input=json.dumps(request) + "\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the worker of {PACKAGE} failed: {done.stderr}")
    return json.loads(done.stdout)


def _open(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None  # all three were asked for
    return pipe


@contextmanager
def peer_worker(sizes: Sizes, threads: int, seed: int) -> Iterator[PeerWorker]:
    """A worker for these sizes, for as long as it is needed."""
    worker = PeerWorker(sizes, threads, seed)
    try:
        yield worker
    finally:
        worker.close()


if __name__ == "__main__":
    make_environment()
    print(f"{PACKAGE} is ready in {ENVIRONMENT.relative_to(ROOT)}.")
