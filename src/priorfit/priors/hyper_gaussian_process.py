"""The Gaussian process whose hyper-parameters are drawn too, once for each dataset."""

from dataclasses import dataclass
from math import isfinite

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Datasets, Real
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.gaussian_process import check_form, draw_gaussian
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.kernels import KERNELS, distances
from priorfit.priors.prior import Prior

SMALLEST = 1e-100
"""Smallest draw of a Gamma: a distance divided by it, and its square, are still finite."""


@dataclass(frozen=True)
class Gamma:
    """The Gamma distribution of mean concentration / rate, as the prior of a hyper-parameter.

    >>> Gamma(3.0, 6.0).sample(4).shape
    torch.Size([4])
    """

    concentration: float
    rate: float

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        for name in ("concentration", "rate"):
            if not (getattr(self, name) > 0 and isfinite(getattr(self, name))):
                raise InputError(f"{name} of a Gamma must be positive and finite; got {getattr(self, name)}.")

    def sample(self, count: int, device: torch.device | None = None) -> Float[Tensor, " count"]:
        """Draw in float64; what would underflow becomes `SMALLEST`."""
        return self._law(device).sample((count,)).clamp_min(SMALLEST)

    def log_prob(self, value: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """The log density at positive values."""
        return self._law(value.device).log_prob(value)

    def _law(self, device: torch.device | None) -> torch.distributions.Gamma:
        concentration, rate = torch.tensor([self.concentration, self.rate], dtype=torch.float64, device=device)
        return torch.distributions.Gamma(concentration, rate, validate_args=False)


@dataclass(frozen=True)
class Hyperparameters:
    """The hyper-parameters of many Gaussian processes, in float64; outputscale and noise are variances."""

    lengthscale: Float[Tensor, "*draws"]
    outputscale: Float[Tensor, "*draws"]
    noise: Float[Tensor, "*draws"]

    def __getitem__(self, index: Tensor | slice | int) -> "Hyperparameters":
        """The hyper-parameters at an index of the batch."""
        return Hyperparameters(self.lengthscale[index], self.outputscale[index], self.noise[index])

    def covariance(
        self, kernel: str, a: Float[Tensor, "*#draws rows features"], b: Float[Tensor, "*#draws columns features"]
    ) -> Float[Tensor, "*draws rows columns"]:
        """The float64 covariance of f(a) and f(b) under each draw, without noise."""
        scaled = distances(a.double(), b.double()) / self.lengthscale[..., None, None]  # (*draws, rows, columns)
        return KERNELS[kernel](scaled) * self.outputscale[..., None, None]

    def noisy_covariance(
        self, kernel: str, x: Float[Tensor, "*#draws points features"]
    ) -> Float[Tensor, "*draws points points"]:
        """The float64 covariance of y(x) under each draw, noise included."""
        covariance = self.covariance(kernel, x, x)
        covariance.diagonal(dim1=-2, dim2=-1).add_(self.noise[..., None])
        return covariance


@dataclass(frozen=True)
class HyperGaussianProcess(Prior):
    """A GP of zero mean whose hyper-parameters are drawn from Gamma distributions, once for each dataset.

    The defaults are those of the paper's hyper-prior study (BoTorch's SingleTaskGP). The noise variance is
    ``noise_floor`` plus a draw of ``noise_prior``: a draw of Gamma(1e-4, 1) is 0 in floating point but for some 7 % of
    the datasets, and above 1e-6 for 0.13 % of them, so the floor is part of the model, the same for every baseline.
    The conditional that it offers to the expected loss is the one given the drawn hyper-parameters.

    >>> HyperGaussianProcess(num_features=2).sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    num_features: int = 1
    kernel: str = "matern52"
    lengthscale_prior: Gamma = Gamma(3.0, 6.0)
    outputscale_prior: Gamma = Gamma(2.0, 0.15)
    noise_prior: Gamma = Gamma(1e-4, 1.0)
    noise_floor: float = 1e-6
    inputs: Inputs = UniformInputs()

    outcome = Real()
    offers_expected = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        check_form(self.kernel, self.num_features)
        if not (self.noise_floor > 0 and isfinite(self.noise_floor)):
            raise InputError(f"noise_floor is a variance: positive and finite; got {self.noise_floor}.")

    def hyperparameters(self, count: int, device: torch.device | None = None) -> Hyperparameters:
        """Draw the hyper-parameters of ``count`` datasets."""
        return Hyperparameters(
            self.lengthscale_prior.sample(count, device),
            self.outputscale_prior.sample(count, device),
            self.noise_floor + self.noise_prior.sample(count, device),
        )

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        return draw_gaussian(x, self.hyperparameters(len(x), x.device).noisy_covariance(self.kernel, x))
