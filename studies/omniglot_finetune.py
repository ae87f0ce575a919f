"""Fine-tune a model of drawn characters on the training alphabets of Omniglot; a seed makes one of five models.

    priorfit train recipes/curves.toml
    python studies/omniglot_finetune.py --data FOLDER --from curves --seed 0
    python studies/omniglot.py --data FOLDER --model build/studies/omniglot-finetuned-0/model --part left-out

Half of the batches stay those of the model's own prior. The others are of the first five characters of the training
alphabets: tasks of one alphabet and tasks of all, with the eight turns and mirror images as new classes, and distorted
as if by more drawers. ``--paper`` has translations alone, and no batches of the model's own prior, as the paper. The
run is judged, and ended, by training alphabets that are left out; ``--all`` trains on these too.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from omniglot_data import Omniglot, omniglot
from study import BUILD, shown

import priorfit as pf
from priorfit.priors.distortion import turns_and_mirrors
from priorfit.zoo import load

LEARNING_RATES = {"paper": 1e-4, "ours": 1e-3}
NUM_POINTS = 41
"""Contexts of up to 40 images: with 20 drawings of a character, more would hold the queries themselves."""
MAX_SHIFT = 4
"""Pixels that the paper's images are moved by at most."""


def training_tasks(data: Omniglot, part: str, count: int) -> pf.Prior:
    """Tasks of one alphabet and of all, turned and distorted, for a model of ``count`` classes."""
    turned = turns_and_mirrors(data.first_five[data.alphabets(part)])
    within, across = turned.flatten(0, 1), turned.flatten(0, 2)[None]
    ways = min(count, across.shape[1])
    priors = [pf.Empirical(within, num_ways=5), pf.Empirical(across, num_ways=ways)]
    return pf.Mixture([pf.FewShot(pf.Distorted(prior), count=count) for prior in priors])


def judging_tasks(data: Omniglot, count: int, is_paper: bool) -> pf.Prior:
    """Tasks of the left-out alphabets as they are."""
    prior = pf.Empirical(data.first_five[data.alphabets("left-out")], num_ways=5)
    if is_paper:
        return pf.FewShot(prior, fewest_ways=5, most_shots=5)
    return pf.FewShot(prior, count=count)


def paper_tasks(data: Omniglot, part: str) -> pf.Prior:
    """The paper's: five characters of an alphabet, five shots, moved within the image."""
    prior = pf.Empirical(data.first_five[data.alphabets(part)], num_ways=5, max_shift=MAX_SHIFT)
    return pf.FewShot(prior, fewest_ways=5, most_shots=5)


def own_points(model: pf.Model) -> int:
    """N of the model's own training."""
    _, largest = model.card.trained_context or (0, NUM_POINTS)
    return largest + 1


def start_of(start: str) -> pf.Model:
    """A model, or for the comparison with fine-tuning alone, one of a recipe that has hardly begun."""
    if not start.endswith(".toml"):
        return load(start)
    recipe = replace(pf.read_recipe(start), budget=pf.Budget(steps=1))
    return pf.train(recipe)


def main(arguments: Sequence[str]) -> None:
    """Parse the command line, and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder of data; else that of PRIORFIT_DATA")
    parser.add_argument(
        "--from", dest="start", required=True, help="name or folder of a model, or a recipe, after a single step"
    )
    parser.add_argument("--folder", type=Path, default=None, help="the folder of the run")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--steps", type=int, default=None, help="in place of minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--paper", action="store_true", help="as the paper: translations, no other prior")
    parser.add_argument("--all", action="store_true", help="train on the left-out alphabets too, and judge by nothing")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    data, model = omniglot(options.data), start_of(options.start)
    assert isinstance(model.problem.outcome, pf.Classes)
    count, part = model.problem.outcome.count, "background" if options.all else "training"
    name = "omniglot-paper" if options.paper else "omniglot-finetuned"
    folder = options.folder or BUILD / f"{name}-{options.seed}"
    pf.finetune(
        model,
        paper_tasks(data, part) if options.paper else training_tasks(data, part, count),
        minutes=None if options.steps else options.minutes,
        steps=options.steps,
        num_points=None if options.paper else min(NUM_POINTS, own_points(model)),
        learning_rate=LEARNING_RATES["paper" if options.paper else "ours"],
        keep=0.0 if options.paper else 0.5,
        left_out=0.0 if options.all else judging_tasks(data, count, options.paper),
        patience=8,
        seed=options.seed,
        folder=folder,
        resume=options.resume,
    )
    print(shown(folder / "model"))


if __name__ == "__main__":
    main(sys.argv[1:])
