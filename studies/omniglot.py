"""Few-shot characters: how far fixed features, a prototype network and our models come on tasks of Omniglot.

    python studies/omniglot.py --data FOLDER --model omniglot

- The paper's protocol: five characters of each evaluation alphabet, drawings 1 to 5 as context (or the first alone), 6
  to 20 as queries: 20 tasks, 1,500 queries. The paper reports an accuracy of 0.865 +- 0.019 with five shots.
- Random tasks of 5 and 20 of all evaluation characters, as most others report them.
- PACOH's own split, on which its 0.885 +- 0.090 was measured. Some of its evaluation alphabets are training alphabets
  of the paper, which fine-tuned models and prototypes have seen: the fixed methods and ``curves`` are fair there.

Methods without training stand beside a prototype network and the models that are named. ``--part left-out`` scores all
on training alphabets that are left out, where settings are chosen: the evaluation alphabets are scored once for a
released model. The temperature of fixed methods and prototypes is fitted on training alphabets, by tasks of the same
shape. Means are over tasks, errors over alphabets (or random tasks); ECE has 10 bins of all queries, beside the value
that it would have if every probability were right. It costs a minute for the fixed methods, and about an hour of one
core for ``--prototype-steps 3000``.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from omniglot_data import Omniglot, Tasks, omniglot
from omniglot_methods import Method, fitted_temperature, fixed_methods, of_model
from omniglot_prototypes import trained_prototypes
from study import BUILD, FOLDER, Clock, Row, Rows, shown, table
from tabular_scores import CalibrationBins, calibration_floor, log_loss

NUM_BINS = 10
SEEDED = re.compile(r"(?P<name>[^/]+)-\d+(/model)?$")
"""The name of a model, or of the folder of its run, that ends in its seed."""
CHUNK = 1000
"""Images of tasks that are answered at once."""


@dataclass(frozen=True)
class Protocol:
    """How tasks are drawn; ``count`` of them where they are random."""

    name: str
    ways: int
    shots: int
    count: int = 0

    def tasks(self, data: Omniglot, part: str, seed: int) -> Tasks:
        """The tasks of a part of the alphabets."""
        if self.name == "paper":
            return data.paper(part, self.shots)
        if self.name == "PACOH":
            return data.pacoh("background" if part == "left-out" else part, self.shots, seed)
        return data.random(part, self.ways, self.shots, self.count, seed)

    @property
    def title(self) -> str:
        """In words."""
        return f"{self.name}, {self.ways} ways, {self.shots} shot{'s' if self.shots > 1 else ''}"


PROTOCOLS = (
    Protocol("paper", 5, 5),
    Protocol("paper", 5, 1),
    Protocol("random", 5, 5, 200),
    Protocol("random", 5, 1, 200),
    Protocol("random", 20, 5, 50),
    Protocol("random", 20, 1, 50),
    Protocol("PACOH", 5, 5),
)
QUICK = (Protocol("paper", 5, 5), Protocol("random", 5, 1, 6), Protocol("PACOH", 5, 5))


def answered(method: Method, tasks: Tasks) -> torch.Tensor:
    """The scores of all tasks, some at a time."""
    with torch.no_grad():
        count = max(1, CHUNK // (tasks.context_x.shape[1] + tasks.query_x.shape[1]))
        parts = zip(*(getattr(tasks, name).split(count) for name in Tasks.__dataclass_fields__), strict=True)
        return torch.cat([method.scores(Tasks(*part)) for part in parts])


def scored(method: Method, protocol: Protocol, data: Omniglot, part: str, seed: int) -> dict[str, Any]:
    """Accuracy and log loss of each task, and the calibration of all queries."""
    tasks, clock = protocol.tasks(data, part, seed), Clock()
    scores = answered(method, tasks)
    seconds, factor = clock.seconds, 1.0
    if method.is_tempered:
        known = protocol.tasks(data, "training" if part == "left-out" else "background", seed + 1)
        factor = fitted_temperature(answered(method, known), known.query_y)
    probabilities = (factor * scores).double().softmax(-1).numpy()
    labels = tasks.query_y.numpy()
    hits = (probabilities.argmax(-1) == labels).mean(1)
    flat, all_labels = probabilities.reshape(-1, tasks.ways), labels.reshape(-1)
    return {
        "accuracy": [round(float(one), 5) for one in hits],
        "log_loss": [round(log_loss(y, p), 5) for y, p in zip(labels, probabilities, strict=True)],
        "groups": tasks.groups.tolist(),
        "ece": CalibrationBins.of_top_class(all_labels, flat, NUM_BINS).error,
        "ece_floor": calibration_floor(flat.max(1), NUM_BINS),
        "factor": round(factor, 4),
        "seconds": round(seconds, 3),
    }


def error(values: Sequence[float], groups: Sequence[int]) -> float:
    """The standard error of a mean over tasks, which are independent between groups."""
    means = [np.mean([v for v, g in zip(values, groups, strict=True) if g == one]) for one in sorted(set(groups))]
    return float(np.std(means, ddof=1) / len(means) ** 0.5)


def run(data: Omniglot, methods: Sequence[Method], rows: Rows, options: Mapping[str, Any]) -> list[Row]:
    """The rows of all methods and protocols; one that is there is not computed again."""
    found = []
    for protocol in options["protocols"]:
        for method in (each for each in methods if each.takes(protocol.ways, protocol.shots)):
            key = {
                "protocol": protocol.title,
                "part": options["part"],
                "method": method.name,
                "version": method.version,
            }
            find = rows.find(key) or rows.add(key, scored(method, protocol, data, options["part"], options["seed"]))
            found.append(find)
    return found


def tell(rows: Sequence[Row]) -> str:
    """One table for each protocol; differences to the ridge on maps are paired by task."""
    told = []
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        mine = [row for row in rows if row["protocol"] == protocol]
        (reference,) = [row for row in mine if row["method"] == "ridge, orientation maps"]
        columns = ("method", "accuracy", "v. ridge on maps", "log loss", "ECE", "its floor")
        lines = [line(row, reference) for row in mine + means_over_seeds(mine)]
        told.append(f"{protocol} ({mine[0]['part']}, {len(reference['accuracy'])} tasks)\n\n{table(columns, lines)}")
    return "\n\n".join(told)


def means_over_seeds(rows: Sequence[Row]) -> list[Row]:
    """One row for the models that differ in their seed alone, such as ``tuned-0`` and ``tuned-1``: means of all."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if found := SEEDED.search(row["method"]):
            groups.setdefault(found["name"], []).append(row)
    return [mean_row(name, group) for name, group in groups.items() if len(group) > 1]


def mean_row(name: str, rows: Sequence[Row]) -> Row:
    """The means over models of the scores of each task, and of the calibration of all queries."""
    by_task = {key: np.mean([row[key] for row in rows], axis=0).tolist() for key in ("accuracy", "log_loss")}
    of_all = {key: float(np.mean([row[key] for row in rows])) for key in ("ece", "ece_floor")}
    return dict(rows[0]) | {"method": f"mean of {len(rows)} models {name}"} | by_task | of_all


def line(row: Row, reference: Row) -> tuple[str, ...]:
    """One method in a table."""
    groups = row["groups"]
    difference = [mine - other for mine, other in zip(row["accuracy"], reference["accuracy"], strict=True)]
    return (
        row["method"],
        f"{np.mean(row['accuracy']):.3f} ± {error(row['accuracy'], groups):.3f}",
        f"{np.mean(difference):+.3f} ± {1.96 * error(difference, groups):.3f}",
        f"{np.mean(row['log_loss']):.3f}",
        f"{row['ece']:.3f}",
        f"{row['ece_floor']:.3f}",
    )


def prototypes(data: Omniglot, part: str, options: argparse.Namespace, place: Path) -> Method:
    """The prototype network of the alphabets that a part may be answered with."""
    alphabets = data.alphabets("training" if part == "left-out" else "background")
    steps, seed = 3 if options.quick else options.prototype_steps, options.seed
    file = place / "models" / f"omniglot-prototypes-{part}-{steps}-{seed}.safetensors"
    network = trained_prototypes(data.first_five[alphabets], file, steps, seed)
    return Method("prototype network", network, version=f"{steps} steps, seed {seed}")


def main(arguments: Sequence[str]) -> None:
    """Parse the command line, score what is missing, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder of data; else that of PRIORFIT_DATA")
    parser.add_argument("--model", action="append", default=[], help="name or folder of a model; may be repeated")
    parser.add_argument("--part", choices=("evaluation", "left-out"), default="evaluation")
    parser.add_argument("--prototype-steps", type=int, default=0, help="0 leaves the prototype network out")
    parser.add_argument("--quick", action="store_true", help="few tasks; rows in build/studies/quick")
    parser.add_argument("--seed", type=int, default=0, help="decides random tasks and the prototypes' weights")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    data = omniglot(options.data)
    methods = fixed_methods() + [of_model(name) for name in options.model]
    if options.prototype_steps:
        methods.append(prototypes(data, options.part, options, BUILD / "quick" if options.quick else BUILD))
    file = (BUILD / "quick" if options.quick else FOLDER) / "results" / "omniglot.jsonl"
    protocols = QUICK if options.quick else PROTOCOLS
    settings = {"protocols": protocols, "part": options.part, "seed": options.seed}
    print(tell(run(data, methods, Rows(file, options.seed), settings)))
    print(f"rows: {shown(file)}")


if __name__ == "__main__":
    main(sys.argv[1:])
