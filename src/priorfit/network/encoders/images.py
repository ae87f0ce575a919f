"""Encoders of small images: position and size are normalised, then strokes are seen by their orientation."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.network.encoders.inputs import ENCODED_RMS, InputEncoder, InputRange

Images = Float[Tensor, "images size size"]

LEAST_RADIUS = 0.5
"""Root mean square radius in pixels below which an image is a dot, which is enlarged no further."""


def normalised(images: Images, radius: float) -> Images:
    """Images with their centre of mass in the middle and a root mean square radius of ``radius`` pixels.

    Bilinear interpolation; nothing lies outside of an image. An image without ink stays as it is.

    >>> dot = torch.zeros(1, 5, 5)
    >>> dot[0, 0, 1] = 1.0
    >>> normalised(dot, radius=LEAST_RADIUS)[0, 2]
    tensor([0., 0., 1., 0., 0.])
    """
    size = images.shape[-1]
    places = torch.arange(size, dtype=images.dtype, device=images.device)
    by_row, by_column = images.sum(2), images.sum(1)
    mass = by_row.sum(1, keepdim=True).clamp_min(torch.finfo(images.dtype).eps)
    middles = [(shares * places).sum(1, keepdim=True) / mass for shares in (by_row, by_column)]  # (images, 1) each
    spreads = [
        (shares * (places - middle).square()).sum(1, keepdim=True) / mass
        for shares, middle in zip((by_row, by_column), middles, strict=True)
    ]
    zoom = (spreads[0] + spreads[1]).clamp_min(LEAST_RADIUS**2).sqrt() / radius
    offsets = (places - (size - 1) / 2) * zoom
    rows, columns = ((1 - (middle + offsets)[..., None].sub(places).abs()).clamp_min(0) for middle in middles)
    return rows @ images @ columns.mT


def gradients(images: Images) -> tuple[Images, Images]:
    """Sobel's horizontal and vertical derivatives; there is no ink outside of an image."""
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    across, down = padded[:, :, 2:] - padded[:, :, :-2], padded[:, 2:] - padded[:, :-2]
    smooth_across = across[:, :-2] + 2 * across[:, 1:-1] + across[:, 2:]
    smooth_down = down[:, :, :-2] + 2 * down[:, :, 1:-1] + down[:, :, 2:]
    return smooth_across, smooth_down


class OrientationMaps(nn.Module):
    """Fixed maps of the gradient's length by its direction: normalise, derive, share, blur, take every few pixels.

    A gradient is shared between the two nearest of ``directions`` over the whole circle, in proportion to the angles.
    The numbers of an image have unit length together; those of an image without ink are 0.
    """

    angles: Tensor
    blur: Tensor

    def __init__(self, settings: "ImageEncoder", size: int) -> None:
        super().__init__()
        self.size, self.radius, self.directions = size, settings.radius, settings.directions
        places = torch.arange(size, dtype=torch.float32)
        kept = places[:: settings.stride]
        weights = torch.exp(-0.5 * ((kept[:, None] - places) / settings.blur).square())
        weights = weights / (settings.blur * math.sqrt(2 * math.pi))  # ink that is blurred over the border is lost
        self.register_buffer("blur", weights, persistent=False)  # (kept, size)
        self.register_buffer("angles", torch.arange(settings.directions) / settings.directions, persistent=False)
        self.kept = len(kept)
        self.num_numbers = settings.directions * self.kept**2

    def forward(self, x: Float[Tensor, "batch points pixels"]) -> Float[Tensor, "batch points directions kept kept"]:
        """The maps of images that are given row by row."""
        images = normalised(x.flatten(0, 1).unflatten(-1, (self.size, self.size)), self.radius)
        across, down = gradients(images)
        turn = (torch.atan2(down, across) / (2 * math.pi))[:, None] - self.angles[:, None, None]
        shares = (1 - self.directions * (turn - turn.round()).abs()).clamp_min(0)
        maps = self.blur @ (shares * torch.hypot(across, down)[:, None]) @ self.blur.mT
        length = maps.flatten(1).norm(dim=1).clamp_min(torch.finfo(maps.dtype).eps)
        return (maps / length[:, None, None, None]).unflatten(0, x.shape[:2])


@dataclass(frozen=True)
class ImageEncoder(InputEncoder):
    """Square images of strokes (0 is no ink), row by row: fixed maps of orientation, then a linear layer.

    Position and size are normalised first, by the centre of mass and the root mean square ``radius`` in pixels, for
    draws of a prior and for data alike. ``directions``, ``blur`` and ``stride`` (in pixels) are those of the
    `OrientationMaps`. The linear layer is orthogonal at first: where it is as wide as the maps it keeps all distances.

    >>> encoder = ImageEncoder(stride=4, blur=2.0).build(num_features=784, width=32, input_range=None)
    >>> encoder(torch.rand(2, 5, 784)).shape
    torch.Size([2, 5, 32])
    """

    radius: float = 7.0
    directions: int = 8
    blur: float = 1.5
    stride: int = 2

    def __post_init__(self) -> None:
        check_fields(self)
        if min(self.radius, self.blur) <= 0 or self.directions < 2 or self.stride < 1:
            raise InputError(
                "an ImageEncoder needs radius and blur above 0, at least 2 directions and a stride of at least 1; "
                f"got {self}."
            )

    def build(self, num_features: int, width: int, input_range: InputRange | None) -> nn.Module:
        """See `InputEncoder.build`."""
        maps = OrientationMaps(self, image_size(num_features))
        return nn.Sequential(maps, nn.Flatten(2), orthogonal_layer(maps.num_numbers, width))


@dataclass(frozen=True)
class ConvolutionEncoder(InputEncoder):
    """An `ImageEncoder` with a small convolution of its maps added: three layers, of which two halve the sides.

    The convolution adds nothing before training, so that the encoder begins as the fixed maps.

    >>> encoder = ConvolutionEncoder(channels=8).build(num_features=784, width=32, input_range=None)
    >>> encoder(torch.rand(2, 5, 784)).shape
    torch.Size([2, 5, 32])
    """

    maps: ImageEncoder = ImageEncoder()
    channels: int = 32

    def __post_init__(self) -> None:
        check_fields(self)
        if self.channels < 1:
            raise InputError(f"a ConvolutionEncoder needs at least 1 channel; got {self.channels}.")

    def build(self, num_features: int, width: int, input_range: InputRange | None) -> nn.Module:
        """See `InputEncoder.build`."""
        return ConvolutionLayer(OrientationMaps(self.maps, image_size(num_features)), self.channels, width)


class ConvolutionLayer(nn.Module):
    """The module of a `ConvolutionEncoder`."""

    def __init__(self, maps: OrientationMaps, channels: int, width: int) -> None:
        super().__init__()
        self.maps = maps
        self.linear = orthogonal_layer(maps.num_numbers, width)
        self.scale = maps.num_numbers**0.5  # the maps have unit length; a convolution wants numbers of about 1
        self.convolution = nn.Sequential(
            nn.Conv2d(maps.directions, channels, 3, padding=1),
            nn.GELU(),
            nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Conv2d(2 * channels, 2 * channels, 3, stride=2, padding=1),
            nn.GELU(),
            nn.Flatten(),
        )
        side = (maps.kept + 3) // 4  # halved twice, rounded up
        self.output = nn.Linear(2 * channels * side**2, width, bias=False)
        nn.init.zeros_(self.output.weight)

    def forward(self, x: Float[Tensor, "batch points pixels"]) -> Float[Tensor, "batch points width"]:
        """Tokens of images."""
        maps = self.maps(x)
        learned = self.output(self.convolution(self.scale * maps.flatten(0, 1)))
        return self.linear(maps.flatten(2)) + learned.unflatten(0, x.shape[:2])


@dataclass(frozen=True)
class NormalisedEncoder(InputEncoder):
    """The paper's linear encoder on images whose position and size are normalised as those of an `ImageEncoder`.

    >>> NormalisedEncoder().build(num_features=784, width=32, input_range=None)(torch.rand(2, 5, 784)).shape
    torch.Size([2, 5, 32])
    """

    radius: float = 7.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.radius <= 0:
            raise InputError(f"a NormalisedEncoder needs a radius above 0; got {self.radius}.")

    def build(self, num_features: int, width: int, input_range: InputRange | None) -> nn.Module:
        """See `InputEncoder.build`."""
        return nn.Sequential(Normalisation(image_size(num_features), self.radius), nn.Linear(num_features, width))


class Normalisation(nn.Module):
    """Normalised pixels, row by row."""

    def __init__(self, size: int, radius: float) -> None:
        super().__init__()
        self.size, self.radius = size, radius

    def forward(self, x: Float[Tensor, "batch points pixels"]) -> Float[Tensor, "batch points pixels"]:
        """The pixels of normalised images."""
        images = x.flatten(0, 1).unflatten(-1, (self.size, self.size))
        return normalised(images, self.radius).flatten(1).unflatten(0, x.shape[:2])


def image_size(num_features: int) -> int:
    """The side of a square image of so many pixels, or an error."""
    size = math.isqrt(num_features)
    if size**2 != num_features or size < 2:
        raise InputError(
            f"an encoder of images takes square ones, row by row, such as 784 = 28 x 28 pixels; got {num_features} "
            "features. Use LinearEncoder() for other inputs."
        )
    return size


def orthogonal_layer(num_numbers: int, width: int) -> nn.Linear:
    """A linear layer of inputs of unit length, which keeps distances, or projects on random directions."""
    layer = nn.Linear(num_numbers, width)
    nn.init.orthogonal_(layer.weight, gain=ENCODED_RMS * max(width, num_numbers) ** 0.5)
    nn.init.zeros_(layer.bias)
    return layer
