"""The Gaussian process with fixed hyper-parameters, and how any Gaussian vector is drawn."""

from dataclasses import dataclass
from math import isfinite

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Normal

from priorfit.data import Datasets, Real
from priorfit.errors import InputError, PriorError
from priorfit.fields import check_fields
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.kernels import KERNELS, distances
from priorfit.priors.prior import Prior


@dataclass(frozen=True)
class GaussianConditional:
    """p(y after the first n | the first n) of y = L z: it costs nothing beyond the draw (a `Conditional`)."""

    factor: Float[Tensor, "batch points points"]
    white: Float[Tensor, "batch points"]
    dtype: torch.dtype

    def __call__(self, num_context: int) -> Normal:
        """Mean L[q, :n] z[:n], variance sum L[q, n:]^2."""
        seen = self.factor[:, num_context:, :num_context]  # (batch, query, context)
        free = self.factor[:, num_context:, num_context:]  # (batch, query, query)
        mean = (seen @ self.white[:, :num_context, None])[..., 0]  # (batch, query)
        scale = free.square().sum(-1).sqrt()  # (batch, query); torch's norm is five times slower on small ones
        return Normal(mean.to(self.dtype), scale.to(self.dtype), validate_args=False)


def cholesky(covariance: Float[Tensor, "*batch points points"]) -> Float[Tensor, "*batch points points"]:
    """The lower Cholesky factor, or an error that says what to raise."""
    factor, failed = torch.linalg.cholesky_ex(covariance)
    if bool(failed.any()):
        raise PriorError(
            f"a covariance of {covariance.shape[-1]} points is not positive definite in {covariance.dtype}; "
            "raise the noise or the jitter of the Gaussian process."
        )
    return factor


def draw_gaussian(
    x: Float[Tensor, "batch points features"], covariance: Float[Tensor, "batch points points"]
) -> Datasets:
    """Targets at ``x`` from N(0, covariance), with their conditional, in the dtype of ``x``."""
    factor = cholesky(covariance)
    white = torch.randn(factor.shape[:-1], dtype=factor.dtype, device=factor.device)
    y = (factor @ white[..., None])[..., 0].to(x.dtype)  # (batch, points)
    return Datasets(x, y, GaussianConditional(factor, white, x.dtype))


def check_form(kernel: str, num_features: int) -> None:
    """Refuse what no Gaussian process can have: a kernel that is not in the table, no features."""
    if kernel not in KERNELS:
        raise InputError(f"kernel must be one of {', '.join(KERNELS)}; got {kernel!r}.")
    if num_features < 1:
        raise InputError(f"num_features must be at least 1; got {num_features}.")


@dataclass(frozen=True)
class GaussianProcess(Prior):
    """A GP of zero mean with fixed hyper-parameters: y ~ N(0, outputscale k(x, x') + noise I).

    ``noise`` and ``outputscale`` are variances; the noise is part of y. So that the float64 Cholesky
    factorisation never fails, the noise is at least ``jitter * outputscale``: with any noise above that the
    law of y is exactly the one written, and `ExactGP` uses the same ``noise_variance``. ``num_features`` is
    how many columns ``sample`` draws; ``draw`` takes any number.

    >>> gp = GaussianProcess(num_features=2, kernel="matern52", lengthscale=0.3)
    >>> gp.sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    num_features: int = 1
    kernel: str = "rbf"
    lengthscale: float = 0.6
    outputscale: float = 1.0
    noise: float = 1e-4
    jitter: float = 1e-8
    inputs: Inputs = UniformInputs()

    outcome = Real()
    offers_expected = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        check_form(self.kernel, self.num_features)
        for name in ("lengthscale", "outputscale", "jitter"):
            if not (getattr(self, name) > 0 and isfinite(getattr(self, name))):
                raise InputError(f"{name} must be positive and finite; got {getattr(self, name)}.")
        if not (self.noise >= 0 and isfinite(self.noise)):
            raise InputError(f"noise is a variance: at least 0 and finite; got {self.noise}.")

    @property
    def noise_variance(self) -> float:
        """The noise that is in y: ``noise``, or the jitter where the noise is below it."""
        return max(self.noise, self.jitter * self.outputscale)

    def covariance(
        self, a: Float[Tensor, "*batch rows features"], b: Float[Tensor, "*batch columns features"]
    ) -> Float[Tensor, "*batch rows columns"]:
        """The float64 covariance of f(a) and f(b), without noise."""
        scaled_a = a.double() / self.lengthscale
        scaled_b = scaled_a if a is b else b.double() / self.lengthscale
        kernel = KERNELS[self.kernel](distances(scaled_a, scaled_b))
        return kernel if self.outputscale == 1 else kernel * self.outputscale

    def noisy_covariance(self, x: Float[Tensor, "*batch points features"]) -> Float[Tensor, "*batch points points"]:
        """The float64 covariance of y(x), noise included."""
        covariance = self.covariance(x, x)
        if covariance.requires_grad:
            return covariance + self.noise_variance * torch.eye(x.shape[-2], dtype=torch.float64, device=x.device)
        covariance.diagonal(dim1=-2, dim2=-1).add_(self.noise_variance)  # no copy where no gradient needs one
        return covariance

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        return draw_gaussian(x, self.noisy_covariance(x))
