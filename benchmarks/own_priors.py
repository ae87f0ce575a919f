"""Priors as a user would write them, of unlike kinds; written down once, and the same for every pilot."""

import torch
from torch import Tensor
from torch.distributions import StudentT

import priorfit as pf
from priorfit.priors import Prior


def one(x: Tensor, low: float = 0.0, high: float = 1.0) -> Tensor:
    """A latent for each dataset, uniform on [low, high]: shape (batch, 1)."""
    return low + (high - low) * torch.rand(len(x), 1)


@pf.prior(num_features=1)
def waves(x: Tensor) -> Tensor:
    """Damped waves of unknown frequency and decay."""
    time = x[..., 0]
    y = torch.sin(one(x, 2, 10) * time) * torch.exp(-one(x, 0, 3) * time)
    return y + 0.05 * torch.randn_like(y)


@pf.prior(num_features=1)
def growth(x: Tensor) -> Tensor:
    """Logistic growth to an unknown level."""
    y = one(x, 0.5, 2) * torch.sigmoid(one(x, 3, 15) * (x[..., 0] - one(x, 0.2, 0.8)))
    return y + 0.05 * torch.randn_like(y)


@pf.prior(num_features=1)
def change_point(x: Tensor) -> Tensor:
    """One jump between two levels, with heavy-tailed noise."""
    before, after = torch.randn(len(x), 1), torch.randn(len(x), 1)
    y = torch.where(x[..., 0] < one(x, 0.1, 0.9), before, after)
    return y + 0.1 * StudentT(3.0).sample(y.shape)


@pf.prior(num_features=1)
def two_branches(x: Tensor) -> Tensor:
    """A line or its mirror image at each point: the predictive has two peaks."""
    line = torch.randn(len(x), 1) + 2 * torch.randn(len(x), 1) * x[..., 0]
    upper = torch.rand_like(line) < one(x, 0.2, 0.8)
    return torch.where(upper, line, -line) + 0.05 * torch.randn_like(line)


@pf.prior(num_features=2, inputs=pf.UniformInputs(-1.0, 1.0), outcome=pf.Classes(3))
def rings(x: Tensor) -> Tensor:
    """Three classes in rings around an unknown centre; one label in twenty is random."""
    centre = torch.rand(len(x), 1, 2) - 0.5
    inner = one(x, 0.2, 0.5)
    distance = (x - centre).norm(dim=-1)
    label = (distance > inner).long() + (distance > inner + one(x, 0.2, 0.5)).long()
    return torch.where(torch.rand(label.shape) < 0.05, torch.randint(3, label.shape), label)


@pf.prior(num_features=1)
def dose_response(x: Tensor) -> Tensor:
    """A sigmoid in the logarithm of the dose, with unknown floor, effect, potency, slope and noise."""
    dose = x[..., 0].clamp_min(1e-3)
    power = one(x, 1, 4)
    effect = dose**power / (one(x, 0.1, 0.9) ** power + dose**power)
    y = 0.3 * torch.randn(len(x), 1) + one(x, 0.5, 2) * effect
    return y + one(x, 0.02, 0.2) * torch.randn_like(y)


@pf.prior(num_features=1)
def own_gp(x: Tensor) -> Tensor:
    """A Gaussian process that a user draws without telling us that it is one (RBF, lengthscale 0.3, noise 1e-4)."""
    distance = x - x.mT
    covariance = torch.exp(-0.5 * (distance / 0.3) ** 2).double()
    factor = torch.linalg.cholesky(covariance + 1e-4 * torch.eye(x.shape[1], dtype=torch.float64))
    return (factor @ torch.randn(*x.shape[:2], 1, dtype=torch.float64))[..., 0].to(x.dtype)


GP = pf.GaussianProcess(num_features=1, lengthscale=0.3, noise=1e-4)
OTHER_GP = pf.GaussianProcess(num_features=1, kernel="matern32", lengthscale=0.5, noise=1e-3)

OWN: dict[str, Prior] = {
    prior.name: prior for prior in (waves, growth, change_point, rings, two_branches, dose_response)
}
KNOWN: dict[str, tuple[Prior, Prior | None]] = {
    "Mixture([GP, GP])": (pf.Mixture([GP, OTHER_GP]), pf.Mixture([GP, OTHER_GP])),
    "a user's own GP": (own_gp, GP),
    "Standardized(GP)": (pf.Standardized(GP), None),
}
"""Priors made of Gaussian processes, each with the one whose exact posterior is the truth."""
