import math

import numpy
import pytest
import torch
from scipy import ndimage

import priorfit as pf
from priorfit.errors import InputError
from priorfit.priors.distortion import Distorted, Distortion, turns_and_mirrors
from priorfit.seeding import seeded

NOTHING = {"rotation": 0.0, "shear": 0.0, "aspect": 0.0, "elastic": 0.0}


def images(count: int = 4, side: int = 15) -> torch.Tensor:
    with seeded(0):
        return torch.rand(count, side, side)


def test_no_distortion_leaves_images_as_they_are():
    torch.testing.assert_close(Distortion(**NOTHING)(images()), images())


def test_a_linear_map_is_that_of_its_matrix_about_the_middle():
    distortion = Distortion(elastic=0.0)
    with seeded(3):
        found = distortion(images())
    with seeded(3):
        matrices = distortion.matrices(4).double().numpy()
    for image, matrix, moved in zip(images(), matrices, found, strict=True):
        matrix = matrix[::-1, ::-1]  # rows first
        middle = numpy.full(2, 7.0)
        expected = ndimage.affine_transform(
            image.double().numpy(), matrix, middle - matrix @ middle, order=1, mode="grid-constant"
        )
        numpy.testing.assert_allclose(moved.numpy(), expected, atol=1e-4)


def test_matrices_keep_the_area_and_have_the_stated_spread():
    with seeded(0):
        matrices = Distortion(rotation=0.2, shear=0.0, aspect=0.0).matrices(4000)
    torch.testing.assert_close(torch.linalg.det(matrices), torch.ones(4000))
    assert torch.atan2(matrices[:, 1, 0], matrices[:, 0, 0]).std().item() == pytest.approx(0.2, rel=0.05)
    with seeded(0):
        stretched = Distortion(rotation=0.0, shear=0.0, aspect=0.3).matrices(4000)
    ratio = (stretched[:, 0, 0] / stretched[:, 1, 1]).log()
    assert ratio.std().item() == pytest.approx(0.3, rel=0.05)


def test_an_elastic_field_moves_pixels_by_its_scale():
    ramp = torch.arange(41.0).expand(2000, 41, 41)  # the value of a pixel is its column
    with seeded(0):
        moved = Distortion(**(NOTHING | {"elastic": 0.02}))(ramp)
    shifts = (moved - ramp)[:, 20, 20]
    assert 0.4 < shifts.std().item() / (0.02 * 40) < 1.1  # between knots the field is smoothed


def test_turns_and_mirrors_are_eight_different_images_with_the_image_first():
    found = turns_and_mirrors(images(1)[0])
    assert torch.equal(found[0], images(1)[0])
    assert len({tuple(each.flatten().tolist()) for each in found}) == 8
    again = {tuple(each.flatten().tolist()) for each in turns_and_mirrors(found[5])}
    assert again == {tuple(each.flatten().tolist()) for each in found}  # a group


def test_distorted_images_keep_their_classes():
    letters = torch.zeros(1, 2, 3, 9, 9)
    letters[:, 0, :, 4, 2:7] = 1.0  # class 0 lies, class 1 stands
    letters[:, 1, :, 2:7, 4] = 1.0
    prior = Distorted(pf.Empirical(letters, num_ways=2))
    drawn = prior.sample(40, 6)
    lies = drawn.x.unflatten(-1, (9, 9)).sum(-1).amax(-1) > drawn.x.unflatten(-1, (9, 9)).sum(-2).amax(-1)
    same = (lies == (drawn.y == 0)).float().mean(1)
    assert bool(((same > 0.99) | (same < 0.01)).all())  # labels are in random order in each dataset
    assert 0 < float((same > 0.5).float().mean()) < 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: Distortion(rotation=-1.0), "rotation"),
        (lambda: Distortion(elastic=math.inf), "elastic of a Distortion must be finite"),
        (lambda: Distorted(pf.Empirical(torch.randn(1, 2, 3, 5), num_ways=2)), "square images; got one of 5"),
    ],
)
def test_wrong_settings_are_refused(wrong, words: str):
    with pytest.raises(InputError, match=words):
        wrong()
