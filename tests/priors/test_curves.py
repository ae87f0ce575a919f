import math

import pytest
import torch

from priorfit.errors import InputError
from priorfit.network import ImageEncoder
from priorfit.network.encoders.images import OrientationMaps
from priorfit.priors.curve_drawing import bernstein, curves_drawn
from priorfit.priors.curves import Curves, _point, _turned
from priorfit.priors.distortion import Distortion
from priorfit.seeding import seeded

STILL = Distortion(rotation=0.0, shear=0.0, aspect=0.0, elastic=0.0)


def straight(start: tuple[float, float], end: tuple[float, float]) -> torch.Tensor:
    share = torch.tensor([0.0, 1 / 3, 2 / 3, 1.0])[:, None]
    return torch.lerp(torch.tensor(start), torch.tensor(end), share)[None, None]  # (1, 1, 4, 2)


def test_a_straight_stroke_is_a_pen_moved_along_it():
    size, pen = 40, 0.03
    image = curves_drawn(straight((-0.3, 0.0125), (0.3, 0.0125)), torch.ones(1, 1), torch.tensor([pen]), size)[0]
    places = (torch.arange(size) - (size - 1) / 2) / size
    profile = torch.exp(-0.5 * ((places - 0.0125) / pen) ** 2)
    expected = 1 - torch.exp(-4.0 * profile)  # far from both ends
    torch.testing.assert_close(image[:, 20], expected, atol=0.03, rtol=0)  # beside some ink for dots
    assert image[:, 0].max() < 1e-6


def test_ink_depends_on_length_and_not_on_the_speed_of_the_pen():
    even = straight((-0.3, 0.0), (0.3, 0.0))
    uneven = even.clone()
    uneven[0, 0, 1] = torch.tensor([0.05, 0.0])  # faster at first
    images = curves_drawn(torch.cat([even, uneven]), torch.ones(2, 1), torch.full((2,), 0.04), 30)
    torch.testing.assert_close(images[0], images[1], atol=0.05, rtol=0)


def test_a_stroke_that_is_not_used_leaves_no_ink():
    both = torch.cat([straight((-0.3, 0.0), (0.3, 0.0)), straight((0.0, -0.3), (0.0, 0.3))], dim=1)
    drawn = curves_drawn(both, torch.tensor([[1.0, 0.0]]), torch.tensor([0.02]), 28)
    alone = curves_drawn(both[:, :1], torch.ones(1, 1), torch.tensor([0.02]), 28)
    torch.testing.assert_close(drawn, alone)


def test_bernstein_weights_make_a_cubic_curve():
    places = torch.linspace(0, 1, 5, dtype=torch.float64)
    points = torch.randn(4, 2, dtype=torch.float64)
    expected = points
    for _ in range(3):  # de Casteljau, at the first quarter
        expected = torch.lerp(expected[:-1], expected[1:], torch.tensor(0.25, dtype=torch.float64))
    torch.testing.assert_close((bernstein(places) @ points)[1], expected[0])
    torch.testing.assert_close(_point(points.float(), torch.tensor(0.25)), expected[0].float())


def test_four_quarter_turns_are_none():
    curves = torch.randn(2, 3, 4, 2)
    one = torch.ones(2, 3, dtype=torch.int64)
    turned = curves
    for _ in range(4):
        turned = _turned(turned, one)
    torch.testing.assert_close(turned, curves)
    torch.testing.assert_close(_turned(curves, 2 * one), -curves)


def test_without_jitter_all_images_of_a_class_are_one_but_for_place_and_size():
    prior = Curves(num_ways=3, jitter=0.0, distortion=STILL, pen=(0.02, 0.02))
    labels = torch.arange(3).repeat_interleave(4)[None]
    with seeded(0):
        x = prior.features(labels)
    maps = OrientationMaps(ImageEncoder(), 28)(x)[0].flatten(1)
    alike = (maps @ maps.mT).unflatten(0, (3, 4)).unflatten(2, (3, 4)).amin((1, 3))
    assert float(alike.diagonal().min()) > 0.9
    assert float((alike - torch.eye(3)).max()) < float(alike.diagonal().min())


def test_look_alikes_differ_in_one_stroke_at_most():
    prior = Curves(num_ways=6, num_strokes=(3, 3), alike=1.0, joined=0.0)
    with seeded(0):
        plan, source = prior._plans(50), prior._sources(50)
        assert bool((source[:, 1:] < torch.arange(1, 6)).all())
    with seeded(0):
        controls, used = prior.characters(50)
    assert bool((used == 1).all())
    shapes = controls - controls[..., :1, :]  # (batch, ways, strokes, 4, 2), wherever they lie
    shapes = shapes / shapes[..., 1:, :].norm(dim=-1).mean((-1, -2), keepdim=True)[..., None]
    second_like_first = (shapes[:, 1] - shapes[:, 0]).abs().amax((-1, -2)) < 0.3 * shapes.abs().mean()
    assert float((second_like_first.sum(1) >= 1).float().mean()) > 0.5
    assert plan.primitive.max() < prior.num_primitives


def distances(ways: int) -> torch.Tensor:
    """How far apart the control points of the characters of 200 datasets are, (batch, pairs)."""
    with seeded(0):
        controls, used = Curves(num_ways=ways, alike=1.0).characters(200)
    drawn = (controls * used[..., None, None]).flatten(2)  # (batch, ways, numbers)
    return torch.stack([torch.pdist(one) for one in drawn])


def test_no_two_characters_of_a_dataset_are_the_same():
    """An exchanged stroke is one that is drawn: else look-alikes would be one class under two labels."""
    assert float(distances(5).min()) > 1e-3


def test_of_twenty_characters_hardly_two_are_nearly_the_same():
    """There are more characters of one stroke than primitives, and look-alikes of one may exchange the same stroke."""
    assert float((distances(20) < 0.01).double().mean()) < 1e-3


def test_characters_fill_the_same_extent_and_images_lie_in_the_unit_interval():
    prior = Curves(num_ways=4)
    with seeded(0):
        controls, used = prior.characters(20)
        images = prior.sample(20, 10).x
    points = (bernstein(torch.linspace(0, 1, 6)) @ controls).masked_fill(used[..., None, None] == 0, math.nan)
    flat = points.flatten(2, 3)
    extent = flat.nan_to_num(-9).amax(2) - flat.nan_to_num(9).amin(2)
    torch.testing.assert_close(extent.amax(-1), torch.full((20, 4), 0.7))
    assert float(images.min()) >= 0 and float(images.max()) <= 1
    assert 0.03 < float(images.mean()) < 0.15  # Omniglot has 0.08


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"num_strokes": (0, 3)}, "num_strokes"),
        ({"num_strokes": (3, 2)}, "num_strokes"),
        ({"image_size": 1}, "image_size"),
        ({"alike": 1.5}, "alike and joined"),
        ({"jitter": math.nan}, "jitter"),
        ({"pen": (0.0, 0.1)}, "pen must be"),
        ({"num_shots": 0}, "num_shots"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], words: str):
    with pytest.raises(InputError, match=words):
        Curves(**wrong)  # pyright: ignore[reportArgumentType]
