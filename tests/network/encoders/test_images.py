import math

import numpy
import pytest
import torch
from scipy import ndimage

import priorfit as pf
from priorfit.errors import InputError
from priorfit.network import ConvolutionEncoder, ImageEncoder, NormalisedEncoder
from priorfit.network.encoders.images import ConvolutionLayer, OrientationMaps, gradients, normalised
from priorfit.seeding import seeded

SIZE = 28


def drawings(count: int = 6) -> torch.Tensor:
    with seeded(0):
        return pf.Strokes(num_ways=2, num_strokes=(2, 3)).sample(1, count).x[0].unflatten(1, (SIZE, SIZE))


def small_drawings() -> torch.Tensor:
    """Drawings of half the size in the upper left of the image, so that they can be moved."""
    images = torch.zeros(6, SIZE, SIZE)
    images[:, 4:18, 3:17] = nn_halved(drawings())
    return images


def nn_halved(images: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.avg_pool2d(images, 2)


def maps_of(images: torch.Tensor, **settings: float) -> torch.Tensor:
    return OrientationMaps(ImageEncoder(**settings), images.shape[-1])(images.flatten(1)[None])[0]  # pyright: ignore


def test_normalising_is_an_affine_map_with_linear_interpolation():
    for image, found in zip(drawings(), normalised(drawings(), radius=6.0), strict=True):
        pixels = image.double().numpy()
        centre = numpy.array(ndimage.center_of_mass(pixels))
        rows, columns = numpy.mgrid[:SIZE, :SIZE]
        squares = (rows - centre[0]) ** 2 + (columns - centre[1]) ** 2
        zoom = math.sqrt((pixels * squares).sum() / pixels.sum()) / 6.0
        offset = centre - zoom * (SIZE - 1) / 2
        moved = ndimage.affine_transform(
            pixels,
            numpy.array([zoom, zoom]),
            offset,  # pyright: ignore[reportArgumentType]  # one for each axis, as its page says
            order=1,
            mode="grid-constant",
        )
        numpy.testing.assert_allclose(found.numpy(), moved, atol=1e-4)


def test_a_normalised_blob_lies_in_the_middle_and_has_the_radius():
    places = torch.arange(SIZE).double()
    rows, columns = torch.meshgrid(places, places, indexing="ij")
    blob = torch.exp(-0.5 * (((rows - 10) / 3) ** 2 + ((columns - 12) / 2) ** 2))[None]
    found = normalised(blob, radius=5.0)[0]
    share = found / found.sum()
    middle = (SIZE - 1) / 2
    assert (share * rows).sum().item() == pytest.approx(middle, abs=0.01)
    assert (share * columns).sum().item() == pytest.approx(middle, abs=0.01)
    squares = (rows - middle) ** 2 + (columns - middle) ** 2
    assert (share * squares).sum().sqrt().item() == pytest.approx(5.0, rel=0.02)  # interpolation blurs


def test_gradients_are_those_of_sobel():
    image = drawings(1)
    across, down = gradients(image)
    for found, axis in ((across, 1), (down, 0)):
        expected = ndimage.sobel(image[0].numpy(), axis=axis, mode="constant")
        numpy.testing.assert_allclose(found[0].numpy(), expected, atol=1e-5)


def test_neither_position_nor_ink_changes_the_maps():
    images = small_drawings()
    moved = images.roll((6, 9), dims=(1, 2))  # nothing leaves the image
    torch.testing.assert_close(maps_of(moved), maps_of(images), atol=2e-5, rtol=0)
    torch.testing.assert_close(maps_of(0.3 * images), maps_of(images), atol=2e-5, rtol=0)


def test_a_quarter_turn_of_the_image_turns_the_maps_and_their_directions():
    images = drawings()
    found = maps_of(images.rot90(dims=(1, 2)), stride=1)
    expected = maps_of(images, stride=1).rot90(dims=(2, 3)).roll(-2, dims=1)  # 2 of 8 directions
    torch.testing.assert_close(found, expected, atol=2e-5, rtol=0)


def test_directions_share_the_whole_gradient_and_the_maps_have_unit_length():
    images = drawings()
    maps = maps_of(images, stride=3)
    torch.testing.assert_close(maps.flatten(1).norm(dim=1), torch.ones(6))
    blurred = ndimage.gaussian_filter(
        torch.hypot(*gradients(normalised(images, 7.0))).numpy(), 1.5, axes=(1, 2), mode="constant", truncate=20.0
    )[:, ::3, ::3]
    total = maps.sum(1)
    scale = total.flatten(1).norm(dim=1) / torch.from_numpy(blurred).flatten(1).norm(dim=1)
    torch.testing.assert_close(total, torch.from_numpy(blurred) * scale[:, None, None], atol=1e-5, rtol=1e-3)


def test_an_empty_image_and_a_single_dot_are_finite():
    images = torch.zeros(2, SIZE, SIZE)
    images[1, 0, 27] = 1.0
    maps = maps_of(images)
    assert bool(maps.isfinite().all()) and not bool(maps[0].any())


def test_a_wide_linear_layer_keeps_all_distances():
    with seeded(0):
        layer = ImageEncoder(stride=4).build(SIZE**2, 400, None)
    x = drawings().flatten(1)[None]
    maps = maps_of(drawings(), stride=4).flatten(1)
    encoded = layer(x)[0]
    torch.testing.assert_close(encoded @ encoded.mT / (0.49 * 400), maps @ maps.mT, atol=1e-4, rtol=0)


def test_a_convolution_adds_nothing_before_training_and_something_after():
    with seeded(0):
        layer = ConvolutionEncoder(ImageEncoder(stride=4), channels=4).build(SIZE**2, 10, None)
    assert isinstance(layer, ConvolutionLayer)
    x = drawings().flatten(1)[None]
    linear = layer.linear(layer.maps(x).flatten(2))
    torch.testing.assert_close(layer(x), linear)
    torch.nn.init.ones_(layer.output.weight)
    assert not torch.allclose(layer(x), linear, atol=0.1)


@pytest.mark.parametrize(
    "encoder",
    [ImageEncoder(stride=4), ConvolutionEncoder(ImageEncoder(stride=4), channels=4), NormalisedEncoder()],
    ids=lambda encoder: type(encoder).__name__,
)
def test_a_network_with_an_encoder_of_images_learns_and_is_saved(encoder: pf.InputEncoder, tmp_path):
    network = pf.NetworkSettings(width=16, layers=1, attention_heads=2, feedforward=16, encoder=encoder)
    model = pf.fit(pf.Strokes(num_ways=3, image_size=12), num_points=12, steps=2, network=network, progress=False)
    model.save(tmp_path / "model")
    x, y = torch.rand(9, 144), torch.arange(9) % 3
    found, kept = (each.condition(x, y).predict(x).probs for each in (pf.load(tmp_path / "model"), model))  # pyright: ignore
    torch.testing.assert_close(found, kept)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: ImageEncoder(radius=0.0), "radius and blur above 0"),
        (lambda: ImageEncoder(directions=1), "at least 2 directions"),
        (lambda: ConvolutionEncoder(channels=0), "at least 1 channel"),
        (lambda: NormalisedEncoder(radius=-1.0), "radius above 0"),
        (lambda: ImageEncoder().build(30, 8, None), "square ones.*got 30"),
    ],
)
def test_wrong_settings_are_refused(wrong, words: str):
    with pytest.raises(InputError, match=words):
        wrong()
