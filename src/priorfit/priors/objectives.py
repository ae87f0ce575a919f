"""Objectives as Bayesian optimisation meets them: warped Matern processes of a few columns, with noise."""

from dataclasses import dataclass
from math import isfinite, log

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.data import Batch, Datasets, Real
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.kernels import KERNELS, distances
from priorfit.priors.prior import Prior

SMALLEST_NOISE = 1e-4
"""Least standard deviation of the noise, in units of the process: below it a Cholesky factor loses its digits."""
LEAST_SPREAD = 1e-6
"""Targets of a context that differ by less are shifted only."""


@dataclass(frozen=True)
class LogNormalDraws:
    """A positive number whose logarithm is Normal: ``median`` and the deviation ``width`` of the logarithm.

    >>> LogNormalDraws(0.5, 0.0).sample(2, 3)
    tensor([[0.5000, 0.5000, 0.5000],
            [0.5000, 0.5000, 0.5000]], dtype=torch.float64)
    """

    median: float
    width: float

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        if not (self.median > 0 and isfinite(self.median) and self.width >= 0 and isfinite(self.width)):
            raise InputError(f"LogNormalDraws needs a positive median and a width of at least 0; got {self}.")

    def sample(self, *shape: int, device: torch.device | None = None) -> Float[Tensor, "*shape"]:
        """Draws in float64."""
        return (log(self.median) + self.width * torch.randn(*shape, dtype=torch.float64, device=device)).exp()


@dataclass(frozen=True)
class Objectives(Prior):
    """Noisy evaluations of y = h(f(w(x))) with a GP f, warped inputs w and a warped output h; columns lie in [0, 1].

    For each dataset: the number of columns is uniform on ``min_features`` ... ``num_features`` (others are 0); f has a
    Matern kernel with a lengthscale for each column, ``lengthscale`` times the root of the number of columns times a
    draw that the columns share (of half its width); a share ``irrelevant`` of the columns does not matter. Columns are
    warped by Kumaraswamy's cdf with log parameters of deviation ``input_warping``; the output by (exp(c f) - 1) / c
    with c of deviation ``output_warping``, so that steep valleys and needles occur. Noise has a standard deviation of
    ``noise`` times that of h(f).

    Training sees datasets as an optimiser shows them: contexts are standardised by their own mean and deviation (one
    point is shifted only), and queries hold the function without noise, in the same units.

    >>> batch = Objectives(num_features=3).sample_split(batch_size=4, num_context=10, num_queries=5)
    >>> batch.context_y.shape, batch.query_y.shape, batch.context_y.std(1).round(decimals=3)
    (torch.Size([4, 10]), torch.Size([4, 5]), tensor([1., 1., 1., 1.]))
    """

    num_features: int = 6
    min_features: int = 1
    kernel: str = "matern52"
    lengthscale: LogNormalDraws = LogNormalDraws(0.35, 0.7)
    irrelevant: float = 0.1
    input_warping: float = 0.3
    output_warping: float = 0.4
    noise: LogNormalDraws = LogNormalDraws(0.01, 2.0)
    inputs: Inputs = UniformInputs()

    outcome = Real()
    answers = "function"
    padding = "plain"

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        if not 1 <= self.min_features <= self.num_features:
            raise InputError(
                "Objectives need 1 <= min_features <= num_features; got "
                f"min_features={self.min_features}, num_features={self.num_features}."
            )
        if self.kernel not in KERNELS:
            raise InputError(f"kernel must be one of {', '.join(KERNELS)}; got {self.kernel!r}.")
        if self.inputs.range != (0.0, 1.0):
            raise InputError("Objectives warp inputs between 0 and 1; use UniformInputs(0.0, 1.0).")
        if not 0 <= self.irrelevant < 1 or min(self.input_warping, self.output_warping) < 0:
            raise InputError(f"irrelevant must be a share below 1, and both warpings at least 0; got {self}.")

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`: noisy evaluations in the units of the process; `split` shows them as an optimiser does."""
        used = torch.randint(self.min_features, self.num_features + 1, (len(x), 1), device=x.device)
        inputs = x * (torch.arange(x.shape[-1], device=x.device) < used)[:, None]
        function, noise = self.functions(inputs, used)
        y = function + noise * torch.randn_like(function)
        return Datasets(inputs, y.to(x.dtype), divide=Shown(inputs, function, y))

    def targets(self, x: Float[Tensor, "batch points features"]) -> Float[Tensor, "batch points"]:
        """See `Prior.targets`; the columns in use are those that are not all 0."""
        column = torch.arange(1, x.shape[-1] + 1, device=x.device)
        used = ((x != 0).any(-2) * column).amax(-1, keepdim=True).clamp(self.min_features, self.num_features)
        function, noise = self.functions(x, used)
        return (function + noise * torch.randn_like(function)).to(x.dtype)

    def functions(
        self, x: Float[Tensor, "batch points features"], used: Int[Tensor, "batch 1"]
    ) -> tuple[Float[Tensor, "batch points"], Float[Tensor, "batch 1"]]:
        """One function a dataset at inputs with so many columns in use, and the deviation of its noise."""
        warped = self._warped_inputs(x.double()) / self._lengthscales(used, x.shape[-1])
        covariance = KERNELS[self.kernel](distances(warped, warped))
        covariance.diagonal(dim1=-2, dim2=-1).add_(SMALLEST_NOISE**2)
        normal = torch.randn(*x.shape[:2], 1, dtype=torch.float64, device=x.device)
        process = (torch.linalg.cholesky(covariance) @ normal)[..., 0]
        function, deviation = self._warped_outputs(process)
        noise = self.noise.sample(len(x), 1, device=x.device).clamp_min(SMALLEST_NOISE)
        return function, noise * deviation

    def _lengthscales(self, used: Int[Tensor, "batch 1"], columns: int) -> Float[Tensor, "batch 1 features"]:
        """A lengthscale for each column; a column that does not matter has one of a thousand."""
        shared = LogNormalDraws(1.0, 0.5 * self.lengthscale.width).sample(len(used), 1, device=used.device)
        own = self.lengthscale.sample(len(used), columns, device=used.device)
        ignored = torch.rand(len(used), columns, device=used.device) < self.irrelevant
        return torch.where(ignored, 1e3, own * shared * used.double().sqrt())[:, None]

    def _warped_inputs(self, x: Float[Tensor, "batch points features"]) -> Float[Tensor, "batch points features"]:
        """Kumaraswamy's cdf of each column: 1 - (1 - x^a)^b."""
        a, b = LogNormalDraws(1.0, self.input_warping).sample(2, len(x), 1, x.shape[-1], device=x.device)
        return 1 - (1 - x.clamp(1e-9, 1 - 1e-9) ** a) ** b

    def _warped_outputs(
        self, process: Float[Tensor, "batch points"]
    ) -> tuple[Float[Tensor, "batch points"], Float[Tensor, "batch 1"]]:
        """(exp(c f) - 1) / c, which is f itself at c = 0; and its deviation over all functions with this c."""
        bend = self.output_warping * torch.randn(len(process), 1, dtype=torch.float64, device=process.device)
        small = bend.abs() < 1e-4
        safe = torch.where(small, 1.0, bend)
        squared = safe.square()
        deviation = (squared.exp() * torch.expm1(squared)).sqrt() / safe.abs()
        function = torch.where(small, process, torch.expm1(safe * process) / safe)
        return function, torch.where(small, 1.0, deviation)


@dataclass(frozen=True)
class Shown:
    """How evaluations are shown: a context in its own units, and the function at the queries in the same."""

    x: Float[Tensor, "batch points features"]
    function: Float[Tensor, "batch points"]
    y: Float[Tensor, "batch points"]

    def __call__(self, num_context: int) -> Batch:
        """Context and queries."""
        shift, scale = context_units(self.y[:, :num_context])
        context_y, query_y = (
            (values - shift) / scale for values in (self.y[:, :num_context], self.function[:, num_context:])
        )
        dtype = self.x.dtype
        context_x, query_x = self.x[:, :num_context], self.x[:, num_context:]
        return Batch(context_x, context_y.to(dtype), query_x, query_y.to(dtype))


def context_units(y: Float[Tensor, "batch context"]) -> tuple[Float[Tensor, "batch 1"], Float[Tensor, "batch 1"]]:
    """Mean and standard deviation of each context: 0 and 1 where it is empty, a deviation of 1 for a single point."""
    if y.shape[1] < 2:
        shift = y.clone() if y.shape[1] else y.new_zeros(len(y), 1)
        return shift, torch.ones_like(shift)
    deviation = y.std(1, keepdim=True)
    return y.mean(1, keepdim=True), torch.where(deviation > LEAST_SPREAD, deviation, 1.0)
