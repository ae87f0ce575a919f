"""Figure 12: samples of both priors of characters, and a gallery of tasks of Omniglot with a model's answers.

    python studies/omniglot_pictures.py
    python studies/omniglot_pictures.py --data FOLDER --model omniglot

The gallery shows left-out training alphabets.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from omniglot_data import Tasks, omniglot
from omniglot_methods import SIDE, Method, of_model
from study import BUILD, FOLDER, save_figure, shown
from torch import Tensor

import priorfit as pf

NUM_CHARACTERS, NUM_DRAWERS = 8, 6


def sheet(images: Tensor) -> Tensor:
    """Characters (rows) by drawers (columns) as one picture."""
    return images.unflatten(-1, (SIDE, SIDE)).permute(0, 2, 1, 3).flatten(2).flatten(0, 1)


def samples(seed: int) -> Figure:
    """One task of straight lines and one of curves: a row for each character, a column for each drawer."""
    labels = torch.arange(NUM_CHARACTERS).repeat_interleave(NUM_DRAWERS)[None]
    with pf.seeded(seed):
        drawn = {
            "straight lines (the paper's)": pf.Strokes(num_ways=NUM_CHARACTERS).features(labels)[0],
            "joined curves (ours)": pf.Curves(num_ways=NUM_CHARACTERS).features(labels)[0],
        }
    sheets = {title: sheet(images.unflatten(0, (NUM_CHARACTERS, NUM_DRAWERS))) for title, images in drawn.items()}
    figure, axes = plt.subplots(1, 2, figsize=(7.0, 4.6), layout="constrained")
    for axis, (title, picture) in zip(axes, sheets.items(), strict=True):
        axis.imshow(picture.numpy(), cmap="gray_r", vmin=0, vmax=1)
        axis.set_title(title, fontsize=9)
        axis.set_axis_off()
    return figure


def gallery(tasks: Tasks, method: Method, count: int = 4, queries: int = 8) -> Figure:
    """Tasks with one image of each class, and queries with the probabilities that a model gives to the classes."""
    probabilities = method.scores(tasks).softmax(-1).numpy()
    figure, axes = plt.subplots(2 * count, queries, figsize=(1.1 * queries, 2.0 * count), layout="constrained")
    chosen = np.linspace(0, tasks.query_y.shape[1] - 1, queries).astype(int)
    for task in range(count):
        for column, query in enumerate(chosen):
            image, bars = axes[2 * task, column], axes[2 * task + 1, column]
            image.imshow(tasks.query_x[task, query].unflatten(0, (SIDE, SIDE)).numpy(), cmap="gray_r")
            image.set_axis_off()
            right = int(tasks.query_y[task, query])
            colours = ["tab:green" if one == right else "tab:gray" for one in range(tasks.ways)]
            bars.bar(range(tasks.ways), probabilities[task, query], color=colours)
            bars.set(ylim=(0, 1), yticks=[], xticks=[])
    return figure


def main(arguments: Sequence[str]) -> None:
    """Parse the command line, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder of data; else that of PRIORFIT_DATA")
    parser.add_argument("--model", default=None, help="name or folder of a model, for the gallery")
    parser.add_argument("--quick", action="store_true", help="write to build/studies/quick")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    place = (BUILD / "quick" if options.quick else FOLDER) / "figures"
    print(shown(save_figure(samples(options.seed), place / "omniglot_priors")))
    if options.model is not None:
        figure = gallery(omniglot(options.data).paper("left-out", shots=5), of_model(options.model))
        print(shown(save_figure(figure, place / "omniglot_gallery")))


if __name__ == "__main__":
    main(sys.argv[1:])
