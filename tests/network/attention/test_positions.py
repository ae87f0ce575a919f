import math

import pytest
import torch

from priorfit.network.attention.positions import SinusoidalPositions


@pytest.mark.parametrize("width", [6, 7])
def test_each_place_is_told_by_sines_and_cosines_of_growing_waves(width: int):
    added = SinusoidalPositions()(torch.zeros(1, 40, width, dtype=torch.float64))[0]
    half = (width + 1) // 2
    for place in (0, 1, 39):
        angles = [place / 10_000 ** (i / half) for i in range(half)]
        expected = [*map(math.sin, angles), *map(math.cos, angles)][:width]
        torch.testing.assert_close(added[place], torch.tensor(expected, dtype=torch.float64))


def test_positions_are_added_to_the_tokens_of_every_dataset():
    tokens = torch.randn(3, 5, 8)
    added = SinusoidalPositions()(tokens) - tokens
    torch.testing.assert_close(added, SinusoidalPositions()(torch.zeros(1, 5, 8)).expand(3, -1, -1))


def test_an_empty_context_stays_empty():
    assert SinusoidalPositions()(torch.zeros(2, 0, 8)).shape == (2, 0, 8)
