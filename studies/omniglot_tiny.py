"""A folder with the layout of the real one and made-up characters, for runs of seconds that measure nothing."""

from pathlib import Path

import numpy as np
import torch

import priorfit as pf

NUM_ALPHABETS, NUM_CHARACTERS, NUM_DRAWERS = 12, 6, 20


def write_tiny_omniglot(folder: Path, seed: int = 0) -> Path:
    """Twelve alphabets, eight of them for training, of six characters each, drawn by the prior of straight lines."""
    with pf.seeded(seed):
        prior = pf.Strokes(num_ways=NUM_CHARACTERS, max_offset=2 / 28)
        labels = torch.arange(NUM_CHARACTERS).repeat_interleave(NUM_DRAWERS).expand(NUM_ALPHABETS, -1)
        pixels = (255 * prior.features(labels).clamp(0, 1)).to(torch.uint8)
    images = pixels.reshape(NUM_ALPHABETS, NUM_CHARACTERS, NUM_DRAWERS, 28, 28).numpy()
    known = {
        "alphabet_names": np.array([f"alphabet {i:02d}" for i in range(NUM_ALPHABETS)]),
        "is_background": np.arange(NUM_ALPHABETS) < NUM_ALPHABETS - 4,
    }
    place = folder / "omniglot"
    place.mkdir(parents=True, exist_ok=True)
    np.savez(place / "omniglot_first5.npz", images=images[:, :5], **known)
    alphabet, character, drawer = np.indices(images.shape[:3]).reshape(3, -1)
    np.savez(
        place / "omniglot_full.npz",
        images28=images.reshape(-1, 28, 28),
        alphabet=alphabet,
        character=character + 1,
        drawer=drawer,
        **known,
    )
    return folder
