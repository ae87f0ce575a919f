import pytest
import torch

from priorfit.importance.kernels import kernels_around
from priorfit.importance.sobol import sobol_points
from priorfit.seeding import seeded


@pytest.mark.parametrize("dimensions", [1, 2, 5])
def test_each_coordinate_has_one_point_in_each_interval(dimensions):
    with seeded(0):
        points, others = sobol_points(dimensions, 512), sobol_points(dimensions, 512)
    strata = (points * 512).floor().sort(dim=0).values
    assert bool((strata == torch.arange(512)[:, None]).all()) and not torch.equal(points, others)


@pytest.mark.parametrize("count", [1_000, 2_048, 16_384])
def test_kernels_around_equally_weighted_sobol_points_cover_all_of_them(count):
    """Twenty sets of points: in the order of the sequence the centres would share one of 64 intervals or fewer."""
    for seed in range(20):
        with seeded(seed):
            draws = torch.special.ndtri(sobol_points(3, count).clamp(1e-9, 1 - 1e-9))[None]
            centres = kernels_around(draws, torch.full((1, count), 1 / count).double(), 64).centres[0]
        assert float(centres.std(0).min()) > 0.6 and float(centres.mean(0).abs().max()) < 0.6
