"""Regression on labels before any learning: expectation propagation comes close to the truth, Laplace's way does not.

    python benchmarks/pilots/label_regression.py --save

On Bayesian networks without an activation the right features and scales are known (`CollapsedBNN` says which), so the
regression layer can be judged alone: eight heads at the octiles of the prior's scale, weighted by their evidence, and
the divergence of their mixture from `CollapsedBNN`. Expectation propagation is the library's own, with several numbers
of rounds; Laplace's way is a search of the mode by Newton's steps, and the curvature there. Cost: two minutes.
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # the clone, so that `benchmarks` is found

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical, Gamma
from torch.nn.functional import logsigmoid

from benchmarks.common.report import parser_for, save, show, spelled
from priorfit.baselines.exact.collapsed_bnn import CollapsedBNN
from priorfit.metrics import Estimate, divergence
from priorfit.network.solver.gaussian import ByFeatures, Numbers, Phi, factor_of, inverted, log_determinant
from priorfit.network.solver.probit import STEPS, classify
from priorfit.predictor import predict
from priorfit.priors import BayesianNetwork
from priorfit.priors.bayesian_network import LARGE, SMALL
from priorfit.seeding import seeded

CASES = (("small", SMALL, 100), ("large", LARGE, 20), ("large", LARGE, 100))
HEADS, NUM_QUERIES = 8, 50
STEPS_OF_ROUNDS = ((1.0, 0.9, 0.6), STEPS, 30 * (0.7,))
PROBIT = math.sqrt(math.pi / 8)
"""The logistic function of z is nearly the standard Normal cdf of this times z."""
STEP_SIZES = (1.0, 0.5, 0.25, 0.1)


def phi_of(prior: BayesianNetwork, x: Float[Tensor, "batch points features"]) -> Phi:
    """The inputs and a constant at each head's scale, in units of the noise."""
    with seeded(0):
        scales = 2 * Gamma(prior.hidden[0] / 2, 0.5).sample((100_000,)).double()
    scale = scales.quantile((torch.arange(HEADS) + 0.5).double() / HEADS)[:, None, None]
    inputs = x.double()[:, None]
    constant = torch.ones_like(inputs[..., :1])
    return PROBIT * torch.cat([scale.sqrt() * inputs, (scale + 2).sqrt() * constant], dim=-1)


def laplace(phi: Phi, signs: Numbers, steps: int = 15) -> ByFeatures:
    """The mode of the weights, and the Normal that has its curvature there."""
    weights, steps_tried = torch.zeros_like(phi[..., 0, :]), torch.tensor(STEP_SIZES, dtype=phi.dtype)
    for _ in range(steps):
        latent, factor = (phi @ weights[..., None])[..., 0], curvature(phi, weights)
        slope = signs * torch.sigmoid(-signs * latent / PROBIT) / PROBIT
        ascent = (phi.mT @ slope[..., None])[..., 0] - weights
        direction = torch.cholesky_solve(ascent[..., None], factor)[..., 0]
        tried = torch.stack([log_joint(phi, signs, weights + size * direction) for size in STEP_SIZES])
        weights = weights + steps_tried[tried.argmax(0)][..., None] * direction
    factor = curvature(phi, weights)
    white = (factor.mT @ weights[..., None])[..., 0]
    return ByFeatures(inverted(factor), white, log_joint(phi, signs, weights) - log_determinant(factor))


def curvature(phi: Phi, weights: Tensor) -> Tensor:
    """The factor of the negative second derivative of the log joint."""
    certain = torch.sigmoid((phi @ weights[..., None])[..., 0] / PROBIT)
    return factor_of((phi.mT * (certain * (1 - certain) / PROBIT**2)[..., None, :]) @ phi)


def log_joint(phi: Phi, signs: Numbers, weights: Tensor) -> Tensor:
    """The log joint density of labels, with a logistic likelihood, and weights."""
    latent = (phi @ weights[..., None])[..., 0]
    return logsigmoid(signs * latent / PROBIT).sum(-1) - 0.5 * weights.square().sum(-1)


def mixed(solution: ByFeatures, phi: Phi) -> Categorical:
    """The mixture of the heads' probabilities, weighted by their marginal likelihood."""
    each = torch.special.ndtr(solution.mean(phi) / (1 + solution.variance(phi)).sqrt())
    one = (solution.log_evidence.softmax(1)[..., None] * each).sum(1).clamp(1e-9, 1 - 1e-9)
    return Categorical(torch.stack([1 - one, one], dim=-1))


def main() -> None:
    """Both ways on all cases."""
    parser = parser_for("label_regression", __doc__)
    parser.add_argument("--datasets", type=int, default=60)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rows, lines = [], []
    for name, prior, size in CASES:
        with seeded(arguments.seed, 8_000_000, size):
            tasks = prior.sample(4 if arguments.quick else arguments.datasets, size + NUM_QUERIES).split(size)
        reference = CollapsedBNN(prior, 512 if arguments.quick else 8_192)
        truth = predict(reference, tasks)
        phi, queries = phi_of(prior, tasks.context_x), phi_of(prior, tasks.query_x)
        signs = (2 * tasks.context_y.double() - 1)[:, None].expand(phi.shape[:-1])
        ways = {"Laplace": laplace(phi, signs)} | {
            f"EP, {len(steps)} rounds": classify(phi, signs, steps)[0] for steps in STEPS_OF_ROUNDS
        }
        for way, solution in ways.items():
            gap = Estimate.over(divergence(truth, mixed(solution, queries)).mean(-1))
            rows.append({"case": name, "n": size, "way": way, "gap": gap})
            lines.append([f"{name}, n = {size}", way, spelled(gap, 5)])
    show(f"KL from the truth, {arguments.threads} threads", ["network", "way", "nats"], lines)
    if arguments.save:
        save("label_regression", rows, arguments.seed)


if __name__ == "__main__":
    main()
