"""Figure 12: samples of both priors of characters, and a gallery of tasks of Omniglot with a model's answers.

    python studies/omniglot_pictures.py
    python studies/omniglot_pictures.py --data FOLDER --model omniglot

The gallery shows training alphabets, which the released model has seen, with the queries of each task that it finds
hardest; the evaluation alphabets are scored, and looked at by nobody.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
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


def gallery(tasks: Tasks, method: Method, count: int = 4, queries: int = 10) -> Figure:
    """Tasks by rows: one image of each class on the left, then queries over the probabilities of the classes.

    The bar of the right class is blue; a query whose most probable class is another has an orange frame. The queries of
    a task are those whose right class has the lowest probabilities, so that the hard ones are seen.
    """
    with torch.no_grad():
        probabilities = method.scores(tasks).softmax(-1)
    right = probabilities.gather(2, tasks.query_y[..., None])[..., 0]
    columns = tasks.ways + 1 + queries
    figure, axes = plt.subplots(
        2 * count,
        columns,
        figsize=(0.62 * columns, 1.25 * count),
        layout="constrained",
        gridspec_kw={"height_ratios": [2, 1] * count},
    )
    for axis in axes.flat:
        axis.set_axis_off()
    for task in range(count):
        for label in range(tasks.ways):
            first = int((tasks.context_y[task] == label).nonzero()[0, 0])
            picture(axes[2 * task, label], tasks.context_x[task, first])
            axes[2 * task + 1, label].text(0.5, 0.9, "abcdefghijklmnopqrst"[label], ha="center", va="top", fontsize=9)
        for column, query in enumerate(right[task].argsort()[:queries].tolist()):
            image, bars = (axes[2 * task + row, tasks.ways + 1 + column] for row in (0, 1))
            picture(image, tasks.query_x[task, query])
            answered(image, bars, probabilities[task, query], int(tasks.query_y[task, query]))
    return figure


def picture(axis: Axes, image: Tensor) -> None:
    """One image of a character."""
    axis.imshow(image.unflatten(0, (SIDE, SIDE)).numpy(), cmap="gray_r", vmin=0, vmax=1)


def answered(image: Axes, bars: Axes, probabilities: Tensor, label: int) -> None:
    """The probabilities of a query under its image, which has a frame where the answer is wrong."""
    if int(probabilities.argmax()) != label:
        image.set_axis_on()
        image.set(xticks=[], yticks=[])
        image.spines[:].set(color="tab:orange", linewidth=2)
    names = list("abcdefghijklmnopqrst"[: len(probabilities)])
    colours = ["tab:blue" if one == label else "lightgray" for one in range(len(names))]
    bars.set_axis_on()
    bars.bar(names, probabilities.numpy(), color=colours)
    bars.set(ylim=(0, 1), yticks=[])
    bars.tick_params(axis="x", labelsize=6, length=0, pad=1)
    bars.spines[["top", "left", "right"]].set_visible(False)


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
