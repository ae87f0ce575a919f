"""Small random distortions of images, as between drawings of one character, and a prior of distorted images."""

from dataclasses import dataclass, field
from math import isqrt

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor
from torch.nn import functional

from priorfit.data import Outcome
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.class_conditional import ClassConditional
from priorfit.priors.inputs import Inputs

KNOTS = 4
"""The elastic field is drawn on so many knots a side, and smooth between them."""


@dataclass(frozen=True)
class Distortion:
    """A random linear map about the middle, and a smooth field of displacements, for each image.

    All are standard deviations of Normals: ``rotation`` in radians, ``shear``, ``aspect`` (of the log ratio of both
    axes) and ``elastic``, of a displacement in shares of the image's side.

    >>> Distortion()(torch.rand(3, 28, 28)).shape
    torch.Size([3, 28, 28])
    """

    rotation: float = 0.12
    shear: float = 0.12
    aspect: float = 0.08
    elastic: float = 0.03

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("rotation", "shear", "aspect", "elastic"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} of a Distortion must be at least 0; got {getattr(self, name)}.")

    def __call__(self, images: Float[Tensor, "images height width"]) -> Float[Tensor, "images height width"]:
        """Distort each image by itself; there is no ink outside, and pixels are interpolated linearly."""
        count, height, width = images.shape
        grid = functional.affine_grid(
            functional.pad(self.matrices(count), (0, 1)), [count, 1, height, width], align_corners=True
        ).to(images.dtype)
        knots = 2 * self.elastic * torch.randn(count, 2, KNOTS, KNOTS, dtype=images.dtype)  # a side is 2 units long
        field = functional.interpolate(knots, (height, width), mode="bicubic", align_corners=True)
        return functional.grid_sample(images[:, None], grid + field.permute(0, 2, 3, 1), align_corners=True)[:, 0]

    def matrices(self, count: int) -> Float[Tensor, "count 2 2"]:
        """Rotation times shear times aspect, of determinant 1."""
        angle, shear, aspect = (scale * torch.randn(count) for scale in (self.rotation, self.shear, self.aspect / 2))
        cos, sin, zero, one = angle.cos(), angle.sin(), torch.zeros(count), torch.ones(count)
        turn = torch.stack([cos, -sin, sin, cos], dim=-1).unflatten(-1, (2, 2))
        slant = torch.stack([one, shear, zero, one], dim=-1).unflatten(-1, (2, 2))
        stretch = torch.stack([aspect.exp(), zero, zero, (-aspect).exp()], dim=-1).unflatten(-1, (2, 2))
        return turn @ slant @ stretch


def turns_and_mirrors(images: Num[Tensor, "*shape side side"]) -> Num[Tensor, "8 *shape side side"]:
    """The eight turns and mirror images of square images, the images themselves first: new classes for free.

    >>> turns_and_mirrors(torch.tensor([[1, 0], [0, 0]])).flatten(1).argmax(1)
    tensor([0, 2, 3, 1, 1, 0, 2, 3])
    """
    both = (images, images.flip(-1))
    return torch.stack([each.rot90(turns, dims=(-2, -1)) for each in both for turns in range(4)])


@dataclass(frozen=True)
class Distorted(ClassConditional):
    """Square images of another prior, each with a distortion of its own: more drawers than a dataset has.

    >>> letters = torch.randint(0, 256, (3, 8, 20, 28, 28), dtype=torch.uint8)  # 3 alphabets, 20 drawers
    >>> from priorfit.priors.empirical import Empirical
    >>> Distorted(Empirical(letters, num_ways=5)).sample(batch_size=2, num_points=30).x.shape
    torch.Size([2, 30, 784])
    """

    prior: ClassConditional
    distortion: Distortion = Distortion()
    num_ways: int = field(init=False, repr=False)
    num_shots: int | None = field(init=False, repr=False)
    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        for name in ("num_ways", "num_shots", "num_features", "inputs", "outcome"):
            object.__setattr__(self, name, getattr(self.prior, name))
        if isqrt(self.num_features) ** 2 != self.num_features:
            raise InputError(f"Distorted needs a prior of square images; got one of {self.num_features} features.")

    def features(self, labels: Int[Tensor, "batch points"]) -> Float[Tensor, "batch points features"]:
        """See `ClassConditional.features`."""
        x = self.prior.features(labels)
        side = isqrt(self.num_features)
        return self.distortion(x.flatten(0, 1).unflatten(1, (side, side))).flatten(1).unflatten(0, labels.shape)
