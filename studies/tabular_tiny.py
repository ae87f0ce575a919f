"""A folder of made-up tables with the layout of the real one, for runs of seconds that measure nothing."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

NUM_ROWS = 120
SIZES = {"paper": (10, 20), "validation": (10, 20), "development": (60, 40)}
"""Context and query rows of a subset, by group."""
SETS = (
    ("paper", "first", 2),
    ("paper", "second", 2),
    ("paper", "third", 2),
    ("validation", "fourth", 2),
    ("development", "three-classes", 3),
    ("development", "number", 0),
)
"""Group, name and number of classes (0: a number) of each table."""


def write_tiny_folder(path: Path, seed: int = 0) -> Path:
    """Write the tables, their subsets, the index and the answers of another method; the path is given back."""
    generator = np.random.default_rng(seed)
    lines, answers = [], []
    for group, name, num_classes in SETS:
        frame = tiny_table(num_classes, generator)
        subsets = tiny_subsets(frame, num_classes if group != "development" else 0, SIZES[group], generator)
        write_table(path, group, name, frame, subsets)
        lines.append({"group": group, "name": name, "n_classes": num_classes})
        if group == "paper":
            answers += tiny_answers(name, frame, subsets)
    pd.DataFrame(lines).to_csv(path / "INDEX.csv", index=False)
    pd.DataFrame(answers).to_csv(path / "tabpfn1.csv.gz", index=False)
    return path


def tiny_table(num_classes: int, generator: np.random.Generator) -> pd.DataFrame:
    """Two columns of numbers, one of them with gaps, and one of text; the target depends on them."""
    x = generator.normal(size=(NUM_ROWS, 2))
    colour = generator.choice(["red", "green", "None"], NUM_ROWS)
    latent = x[:, 0] + (colour == "red") + 0.5 * generator.normal(size=NUM_ROWS)
    x[generator.random(NUM_ROWS) < 0.1, 1] = np.nan
    ranks = latent.argsort().argsort()
    target = latent if num_classes == 0 else [f"c{rank * num_classes // NUM_ROWS}" for rank in ranks]
    return pd.DataFrame({"length": x[:, 0], "gaps": x[:, 1], "colour": colour, "target": target})


def tiny_subsets(
    frame: pd.DataFrame, num_classes: int, sizes: tuple[int, int], generator: np.random.Generator
) -> list[dict[str, list[int]]]:
    """Two subsets of rows, balanced where ``num_classes`` is not 0."""
    found = []
    for _ in range(2):
        order = generator.permutation(NUM_ROWS)
        if num_classes:
            members = [order[frame["target"].to_numpy()[order] == f"c{one}"] for one in range(num_classes)]
            order = np.stack([rows[: min(map(len, members))] for rows in members], axis=1).flatten()
        context, query = order[: sizes[0]], order[sizes[0] : sum(sizes)]
        found.append({"context": context.tolist(), "query": query.tolist()})
    return found


def write_table(path: Path, group: str, name: str, frame: pd.DataFrame, subsets: list[dict[str, list[int]]]) -> None:
    """The CSV of a table, and the JSON of its subsets."""
    file = f"{group}/{name}.csv.gz"
    for folder in (path / group, path / "splits"):
        folder.mkdir(parents=True, exist_ok=True)
    frame.to_csv(path / file, index=False)
    split = {"name": name, "file": file, "subsets": subsets}
    if group != "development":
        split |= {"classes": ["c0", "c1"], "disjoint": False}
    (path / "splits" / f"{name}.json").write_text(json.dumps(split), encoding="utf-8")


def tiny_answers(name: str, frame: pd.DataFrame, subsets: list[dict[str, list[int]]]) -> list[dict[str, object]]:
    """What a method of others is said to have answered: a logistic function of one column."""
    probability = 1 / (1 + np.exp(-frame["length"].to_numpy()))
    return [
        {"set": name, "subset": index, "row": row, "probability": round(float(probability[row]), 5)}
        for index, subset in enumerate(subsets)
        for row in subset["query"]
    ]
