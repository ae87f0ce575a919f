"""The reference for Bayesian networks without activation: logistic regression with a random prior variance.

With hidden units W x + a and logits V (W x + a) + c, all entries N(0, 1), the difference of the two logits is
v (W x + a) + (c_1 - c_0) with v ~ N(0, 2 I). Given s = |v|^2, which is 2 chi^2 with h degrees of freedom, it is
w x + b with w ~ N(0, s I) and b ~ N(0, s + 2). So whatever the width, only the few coefficients (w, b) matter: s is
integrated out by quadrature, and (w, b) by importance sampling with a proposal adapted to each posterior.
"""

from dataclasses import dataclass
from math import lgamma, log, pi, sqrt

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Categorical
from torch.nn.functional import logsigmoid, pad
from torch.quasirandom import SobolEngine

from priorfit.data import Classes
from priorfit.distributions.class_probabilities import two_classes
from priorfit.errors import InputError
from priorfit.priors.bayesian_network import BayesianNetwork
from priorfit.seeding import derived_seed

REPLICATES = 8
"""Independent importance samples, whose spread is the Monte Carlo error."""

DATASETS_AT_ONCE = 8
"""How many datasets are processed together; more would only need more memory."""

NEWTON_STEPS = 30
ADAPTATIONS = 7
ADAPTATION_SAMPLES = 2048

SCALES = (1.0, 1.5, 3.0)
SHARES = (0.6, 0.3, 0.1)
"""Weights of the proposal's Normals, which share mean and shape; its tails are wider than the posterior's."""


@dataclass(frozen=True)
class CollapsedPosterior:
    """Weighted coefficients (w, b) of the difference of the logits, in independent replicates."""

    batch_shape: tuple[int, ...]
    coefficients: Float[Tensor, "datasets replicates samples coefficients"]
    log_weights: Float[Tensor, "datasets replicates samples"]

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> Categorical:
        """The averaged probability of class 1 at each query."""
        share = self.log_weights.logsumexp(-1).softmax(-1)  # (datasets, replicates)
        averaged = (share[..., None, None] * self._probabilities(query_x)).sum(1)  # (datasets, query, 2)
        return _classes(averaged.reshape(*query_x.shape[:-1], 2), query_x.dtype)

    def replicates(self, query_x: Float[Tensor, "*batch query features"]) -> Categorical:
        """The prediction of each independent sample alone: batch shape (replicates, *batch, query)."""
        each = self._probabilities(query_x).movedim(1, 0)  # (replicates, datasets, query, 2)
        return _classes(each.reshape(REPLICATES, *query_x.shape[:-1], 2), query_x.dtype)

    def standard_error(
        self, query_x: Float[Tensor, "*batch query features"], query_y: Num[Tensor, "*batch query"]
    ) -> float:
        """The Monte Carlo error (one standard deviation) of the mean log predictive of all these queries."""
        log_prob = self.replicates(query_x.double()).log_prob(query_y.double())  # (replicates, *batch, query)
        return float(log_prob.flatten(1).mean(-1).std()) / sqrt(REPLICATES)

    @property
    def effective_samples(self) -> Float[Tensor, "*batch"]:
        """The effective sample size of the weighted draws of each dataset."""
        return _effective_samples(self.log_weights.flatten(1)).reshape(self.batch_shape)

    def _probabilities(
        self, query_x: Float[Tensor, "*batch query features"]
    ) -> Float[Tensor, "datasets replicates query 2"]:
        """The log probabilities of both classes, so that each is exact where it is small."""
        x = _with_one(query_x).reshape(len(self.log_weights), 1, *query_x.shape[-2:-1], -1)
        parts = zip(*(part.split(DATASETS_AT_ONCE) for part in (self.log_weights, self.coefficients, x)), strict=True)
        return torch.cat([_averaged(*part) for part in parts])


@dataclass(frozen=True)
class CollapsedBNN:
    """The posterior predictive of a `BayesianNetwork` without activation, up to a Monte Carlo error that it reports.

    It serves one hidden layer and two classes. The same points, seeded and scrambled Sobol sequences, are used for
    every dataset, so an answer does not depend on the batch; `CollapsedPosterior.standard_error` counts what
    the datasets' errors have in common.

    >>> prior = BayesianNetwork(num_features=3, hidden=(5,), outcome=Classes(2))
    >>> tasks = prior.sample(batch_size=4, num_points=30).split(num_context=20)
    >>> posterior = CollapsedBNN(prior, num_samples=2048).condition(tasks.context_x, tasks.context_y)
    >>> posterior.predict(tasks.query_x).probs.shape, posterior.effective_samples.shape
    (torch.Size([4, 10, 2]), torch.Size([4]))
    """

    prior: BayesianNetwork
    num_samples: int = 8192
    seed: int = 0

    def __post_init__(self) -> None:
        """Check that the prior is one that collapses."""
        prior = self.prior
        form = (len(prior.hidden), prior.activation, prior.outcome, prior.architecture)
        if form != (1, None, Classes(2), None):
            raise InputError(
                "CollapsedBNN needs a BayesianNetwork with one hidden layer, two classes, no activation and no "
                f"architecture; got {prior}."
            )
        if self.num_samples < 64 * REPLICATES:
            raise InputError(f"num_samples must be at least {64 * REPLICATES}; got {self.num_samples}.")

    def condition(
        self,
        context_x: Float[Tensor, "*batch context features"],
        context_y: Num[Tensor, "*batch context"],
    ) -> CollapsedPosterior:
        """See `Predictor.condition`; all sampling happens here, in float64."""
        num_datasets = context_y.shape[:-1].numel()
        signs = (2 * context_y.double() - 1).reshape(num_datasets, context_y.shape[-1], 1)
        x = signs * _with_one(context_x).reshape(*signs.shape[:-1], context_x.shape[-1] + 1)
        coefficients, log_weights = zip(*(self._sampled(part) for part in x.split(DATASETS_AT_ONCE)), strict=True)
        return CollapsedPosterior(context_y.shape[:-1], torch.cat(coefficients), torch.cat(log_weights))

    def _sampled(
        self, x: Float[Tensor, "datasets context coefficients"]
    ) -> tuple[Float[Tensor, "datasets replicates samples coefficients"], Float[Tensor, "datasets replicates samples"]]:
        """Weighted draws of the posterior; a row of ``x`` is (x, 1), negated for class 0."""
        prior = _CoefficientPrior(self.prior.hidden[0], x.shape[-1])
        mean, covariance = _laplace(x, prior.variances.to(x))
        for i in range(ADAPTATIONS):
            white, log_density = self._points(x, ADAPTATION_SAMPLES, i)
            drawn, log_weights = _weighted(x, prior, mean, covariance, white, log_density)
            mean, covariance = _moments(drawn, _tempered(log_weights, least=16 * x.shape[-1]))
        points = [self._points(x, self.num_samples // REPLICATES, ADAPTATIONS + i) for i in range(REPLICATES)]
        replicates = [_weighted(x, prior, mean, covariance, *each) for each in points]
        drawn, log_weights = zip(*replicates, strict=True)
        return torch.stack(drawn, dim=1), torch.stack(log_weights, dim=1)

    def _points(
        self, like: Tensor, count: int, stream: int
    ) -> tuple[Float[Tensor, "count coefficients"], Float[Tensor, " count"]]:
        """Points of a mixture of Normals around 0, spread evenly, and their log density."""
        size = like.shape[-1]
        engine = SobolEngine(size + 1, scramble=True, seed=derived_seed(self.seed, stream))
        uniform = engine.draw(count, dtype=torch.float64) + 2.0**-31  # the sequence has 30 bits, and 0 among them
        shares, scales = torch.tensor(SHARES, dtype=torch.float64), torch.tensor(SCALES, dtype=torch.float64)
        scale = scales[torch.bucketize(uniform[:, -1].contiguous(), shares.cumsum(0)[:-1])]  # (count)
        points = scale[:, None] * torch.special.ndtri(uniform[:, :-1])  # (count, coefficients)
        squares = points.square().sum(-1, keepdim=True)  # (count, 1)
        log_density = (shares.log() - size * scales.log() - squares / (2 * scales**2)).logsumexp(-1)
        return points.to(like), (log_density - size / 2 * log(2 * pi)).to(like)


class _CoefficientPrior:
    """The prior of (w, b), with s integrated out by the trapezoidal rule in log s."""

    def __init__(self, num_hidden: int, num_coefficients: int) -> None:
        # About 1e-10 of chi^2 lies below the first node, and less above the last (Laurent and Massart's bound).
        low = log(4) + 2 / num_hidden * (log(1e-10) + lgamma(num_hidden / 2 + 1))
        high = log(2 * (num_hidden + 2 * sqrt(25 * num_hidden) + 50))
        s = torch.linspace(low, high, 64, dtype=torch.float64).exp()  # (nodes)
        log_mass = (num_hidden / 2 * s.log() - s / 4).log_softmax(0)  # log density of log s, up to a constant
        log_scales = (num_coefficients - 1) / 2 * s.log() + (s + 2).log() / 2
        self.constants = log_mass - log_scales - num_coefficients / 2 * log(2 * pi)  # (nodes)
        self.rates = torch.stack([-1 / (2 * s), -1 / (2 * (s + 2))])  # (2, nodes)
        weights = torch.full((num_coefficients - 1,), 2.0 * num_hidden, dtype=torch.float64)
        self.variances = torch.cat([weights, weights.new_tensor([2.0 * num_hidden + 2])])  # (coefficients)

    def log_prob(self, coefficients: Float[Tensor, "*batch coefficients"]) -> Float[Tensor, "*batch"]:
        squares = coefficients.square()
        sums = torch.stack([squares[..., :-1].sum(-1), squares[..., -1]], dim=-1)  # (*batch, 2)
        return (sums @ self.rates.to(sums) + self.constants.to(sums)).logsumexp(-1)


def _laplace(
    x: Float[Tensor, "datasets context coefficients"], variances: Float[Tensor, " coefficients"]
) -> tuple[Float[Tensor, "datasets coefficients"], Float[Tensor, "datasets coefficients coefficients"]]:
    """Mode and inverse Hessian with s at its mean, by Newton's method: where the adaptation starts."""
    mode = x.new_zeros(len(x), x.shape[-1])
    hessian = torch.diag(1 / variances).expand(len(x), -1, -1)
    for _ in range(NEWTON_STEPS):
        wrong = (-(x @ mode[..., None])).sigmoid()  # (datasets, context, 1)
        hessian = x.mT @ (wrong * (1 - wrong) * x) + torch.diag(1 / variances)
        gradient = (wrong * x).sum(1) - mode / variances  # (datasets, coefficients)
        mode = mode + torch.linalg.solve(hessian, gradient)
    return mode, torch.linalg.inv(hessian)


def _weighted(
    x: Float[Tensor, "datasets context coefficients"],
    prior: _CoefficientPrior,
    mean: Float[Tensor, "datasets coefficients"],
    covariance: Float[Tensor, "datasets coefficients coefficients"],
    points: Float[Tensor, "samples coefficients"],
    log_density: Float[Tensor, " samples"],
) -> tuple[Float[Tensor, "datasets samples coefficients"], Float[Tensor, "datasets samples"]]:
    """The points moved to the posterior, and the logs of posterior (unnormalised) over proposal."""
    factor = torch.linalg.cholesky(covariance)
    drawn = mean[:, None] + points @ factor.mT  # (datasets, samples, coefficients)
    log_likelihood = logsigmoid(drawn @ x.mT).sum(-1)  # (datasets, samples)
    log_volume = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1, keepdim=True)  # (datasets, 1)
    return drawn, log_likelihood + prior.log_prob(drawn) - log_density + log_volume


def _tempered(log_weights: Float[Tensor, "datasets samples"], least: int) -> Float[Tensor, "datasets samples"]:
    """Normalised weights, raised to the largest power of at most 1 with effective sample size ``least``."""
    power, step = torch.zeros_like(log_weights[:, :1]), 1.0
    for _ in range(20):
        step /= 2
        enough = _effective_samples((power + step) * log_weights) >= least  # (datasets)
        power = torch.where(enough[:, None], power + step, power)
    return (power * log_weights).softmax(-1)


def _effective_samples(log_weights: Float[Tensor, "datasets samples"]) -> Float[Tensor, " datasets"]:
    return 1 / log_weights.softmax(-1).square().sum(-1)


def _moments(
    drawn: Float[Tensor, "datasets samples coefficients"], weights: Float[Tensor, "datasets samples"]
) -> tuple[Float[Tensor, "datasets coefficients"], Float[Tensor, "datasets coefficients coefficients"]]:
    mean = (weights[..., None] * drawn).sum(1)  # (datasets, coefficients)
    centred = drawn - mean[:, None]
    return mean, centred.mT @ (weights[..., None] * centred)


def _with_one(x: Float[Tensor, "*batch points features"]) -> Float[Tensor, "*batch points coefficients"]:
    return pad(x.double(), (0, 1), value=1.0)


def _averaged(
    log_weights: Float[Tensor, "datasets replicates samples"],
    coefficients: Float[Tensor, "datasets replicates samples coefficients"],
    x: Float[Tensor, "datasets 1 query coefficients"],
) -> Float[Tensor, "datasets replicates query 2"]:
    """The probabilities of both classes within each replicate."""
    weights = log_weights.softmax(-1)[..., None, :]  # (datasets, replicates, 1, samples)
    logits = coefficients @ x.mT  # (datasets, replicates, samples, query)
    return torch.cat([weights @ (-logits).sigmoid(), weights @ logits.sigmoid()], dim=-2).mT


def _classes(probabilities: Float[Tensor, "*batch query 2"], dtype: torch.dtype) -> Categorical:
    absent, present = probabilities.clamp_min(torch.finfo(torch.float64).tiny).log().unbind(-1)  # (*batch, query)
    log_odds = present - absent
    return two_classes(log_odds.to(dtype))
