"""Forms of the network for tables, trained alike: what cells are told of labels, kernel guesses of rows, and the width.

    PRIORFIT_DATA=FOLDER python benchmarks/pilots/table_networks.py [--forms whole,bare] [--steps 1500] [--threads 1]

Each form is trained for the same number of steps of 16 tables of the prior (up to 30 columns and 150 rows; seed 0).
Printed: its log loss on 600 tables of the prior with 30 rows of context and with 100 (32 queries each, seed 1), with
the standard error of the mean over tables; on the validation tables (30 rows, two classes) and the development tables
(30 and 200 rows), the mean over sets, with the folder of data that the studies read; and processor seconds a step.
Rows are kept in ``results/table_networks.jsonl``.
"""

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found
sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))

import numpy as np
import torch
from tabular_data import needed_folder
from tabular_development import of_functions, scored_entry
from torch import Tensor

import priorfit as pf
from benchmarks.common.kept_rows import KeptRows
from benchmarks.common.report import RESULTS
from priorfit.network.tables.cells import CellFeatures
from priorfit.network.tables.network import TableNetwork
from priorfit.predictor import predict
from priorfit.seeding import seeded

ROWS = RESULTS / "table_networks.jsonl"
OWN_NUMBERS = 4
"""The first numbers of a cell, which no label has a part in: value, rank, ties, whether it is missing."""

RECIPE = pf.Recipe(
    pf.Tables(num_features=30),
    num_points=151,
    budget=pf.Budget(steps=1500),
    name="table-networks",
    units="free",
    network=pf.TableSettings(width=64, layers=3, attention_heads=2, feedforward=128),
    data=pf.DataSettings(
        batch_size=8,
        micro_batches=2,
        num_queries=32,
        same_n=False,
        context_sizes=pf.PowerSizes(offset=30.0, power=2.5, smallest=2),
    ),
    optimiser=pf.OptimiserSettings(precision="bfloat16"),
)


class Bare(TableNetwork):
    """A network without what has a closed form; ``untold`` names what its tokens are not told."""

    untold = ("labels", "guesses")

    def _context_cells(self, features: CellFeatures, guesses: Tensor, targets: Tensor) -> Tensor:
        return super()._context_cells(self._kept(features), self._kept_guesses(guesses), targets)

    def _query_cells(self, features: CellFeatures, guesses: Tensor) -> Tensor:
        return super()._query_cells(self._kept(features), self._kept_guesses(guesses))

    def _kept(self, features: CellFeatures) -> CellFeatures:
        if "labels" not in self.untold:
            return features
        numbers = torch.cat([features.numbers[..., :OWN_NUMBERS], 0 * features.numbers[..., OWN_NUMBERS:]], dim=-1)
        return replace(features, numbers=numbers)

    def _kept_guesses(self, guesses: Tensor) -> Tensor:
        return 0 * guesses if "guesses" in self.untold else guesses


class WithoutLabels(Bare):
    """A network whose cells are not told what labels say near them."""

    untold = ("labels",)


class WithoutGuesses(Bare):
    """A network whose rows are not told the guesses of kernels."""

    untold = ("guesses",)


@dataclass(frozen=True)
class Form(pf.TableSettings):
    """Settings whose network is of another class."""

    kind: str = "whole"

    def build(
        self, problem: pf.Problem, card: pf.ModelCard | None = None, target_sample: Tensor | None = None
    ) -> TableNetwork:
        """See `ModelSettings.build`."""
        kinds = {"whole": TableNetwork, "bare": Bare, "no labels": WithoutLabels, "no guesses": WithoutGuesses}
        return kinds[self.kind](self, problem, card)


FORMS: dict[str, Form] = {
    **{kind: Form(kind=kind, attention_heads=2) for kind in ("whole", "bare", "no labels", "no guesses")},
    "width 96": Form(width=96, attention_heads=3, feedforward=192),
    "width 128": Form(width=128, attention_heads=4, feedforward=256),
    "layers 2": Form(layers=2, attention_heads=2),
    "layers 5": Form(layers=5, attention_heads=2),
}


def measured(form: str, steps: int) -> dict[str, float]:
    """Train one form, and judge it."""
    start = time.process_time()
    model = pf.train(replace(RECIPE, network=FORMS[form], budget=pf.Budget(steps=steps)))
    found = {"seconds_per_step": (time.process_time() - start) / steps}
    for rows in (30, 100):
        losses = prior_losses(model, rows)
        found |= {
            f"prior_{rows}": float(losses.mean()),
            f"prior_{rows}_error": float(losses.std() / len(losses) ** 0.5),
        }
    entry = of_functions(form, classify=lambda x, y, query: np.asarray(model.condition(x, y).predict(query).probs))
    by_section: dict[str, list[float]] = {}
    for row in scored_entry(needed_folder(None), entry, subsets=5):
        by_section.setdefault(f"{row['group']}_{row['rows']}", []).append(float(np.nanmean(row["log_loss"])))
    return found | {name: float(np.mean(values)) for name, values in by_section.items()}


def prior_losses(model: pf.Model, rows: int) -> Tensor:
    """The mean loss of each of 600 tables of the prior."""
    losses = []
    for batch in range(75):
        with seeded(1, rows, batch):
            tables = RECIPE.prior.sample(8, rows + 32).split(rows)
        ppd = predict(model.in_model_units(), tables)
        known = tables.query_y < ppd.probs.shape[-1]
        scores = -ppd.log_prob(torch.where(known, tables.query_y, 0.0)).where(known, torch.nan)
        losses.append(scores.nanmean(1))
    return torch.cat(losses).nan_to_num()


def main() -> None:
    """Parse the command line, find the rows that are missing, and print all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", default="whole,bare,no labels,no guesses,width 96")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = KeptRows(ROWS, seed=0)
    for form in options.forms.split(","):
        row = rows.get({"form": form, "steps": options.steps}, lambda form=form: measured(form, options.steps))
        print(
            "  ".join(f"{name} {value:.4f}" if isinstance(value, float) else str(value) for name, value in row.items())
        )


if __name__ == "__main__":
    main()
