"""Every predictor with a prior whose datasets it can answer: a new one is a new line here."""

from dataclasses import dataclass

import torch
from baselines.tabular.methods import METHODS

from priorfit.baselines import (
    MLE2GP,
    CollapsedBNN,
    ExactBetaBernoulli,
    ExactGP,
    ExactLinear,
    HyperGPOracle,
    NeuralProcessSettings,
    NutsBNN,
    NutsGP,
    SviBNN,
    exact,
)
from priorfit.data import Classes, Datasets, Real
from priorfit.network import (
    CellSolver,
    ClassRegression,
    ClassSolver,
    Harmonics,
    KernelSolver,
    LatentSolver,
    LinearSolver,
    Model,
    ModelSettings,
    NetworkSettings,
    Problem,
    SolverSettings,
    StepSolver,
    TableSettings,
)
from priorfit.priors import (
    BayesianNetwork,
    BetaBernoulli,
    GaussianProcess,
    HyperGaussianProcess,
    LinearRegression,
    Mixture,
    Prior,
    Tables,
    UniformInputs,
)
from priorfit.priors.bayesian_network import SMALL
from priorfit.seeding import seeded

GP = GaussianProcess(num_features=2, kernel="matern32", lengthscale=0.4, noise=1e-3)
LINEAR = LinearRegression(num_features=3)
MIXTURE = Mixture([GP, GaussianProcess(num_features=2, lengthscale=2.0, noise=0.1)], weights=[0.3, 0.7])
COINS = BetaBernoulli(alpha=2.0, beta=1.0)
HYPER_GP = HyperGaussianProcess(num_features=2)


@dataclass(frozen=True)
class Bands(Prior):
    """Three classes: the thirds of the first feature, in a random order of each dataset."""

    num_features: int = 2
    inputs: UniformInputs = UniformInputs()
    outcome: Classes = Classes(3)

    def draw(self, x: torch.Tensor) -> Datasets:
        order = torch.rand(*x.shape[:-2], 3).argsort(-1)
        return Datasets(x, order.gather(-1, (3 * x[..., 0]).long().clamp_max(2)).to(x.dtype))


NETWORK = BayesianNetwork(num_features=1, hidden=(2,), activation="tanh", outcome=Classes(2))


BANDS = Bands()
TABLES = Tables(num_features=4, outcome=Classes(2), gaps=0.5)
TABLES_OF_REALS = Tables(num_features=4, outcome=Real(), gaps=0.5)
CELLS = TableSettings(width=16, layers=2, feedforward=16)


def shaken(settings: ModelSettings, prior: Prior = GP) -> Model:
    """A network of random weights: the contract asks nothing of what it has learned."""
    with seeded(0):
        problem = Problem(
            prior.num_features,
            prior.outcome,
            prior.inputs.range,
            min_features=prior.fewest_features,
            missing=prior.draws_missing,
            min_classes=prior.fewest_classes,
        )
        network = settings.build(problem, target_sample=prior.sample(100, 20).y)
        for name, weight in network.named_parameters():
            size = 0.03 if name.startswith("solver.") else 0.2  # a solver's are logarithms
            weight.data.add_(size * torch.randn_like(weight))
    return network.frozen()


def with_solver(solver: SolverSettings, layers: int, prior: Prior) -> tuple[Model, Prior]:
    """A network with a solver, and the prior whose datasets it can answer."""
    return shaken(NetworkSettings(width=16, layers=layers, attention_heads=2, solver=solver), prior), prior


SOLVERS = {
    "linear solver": (LinearSolver(8, 2, 16), GP),
    "linear solver without a hidden layer": (LinearSolver(8, 1, 0), GP),
    "linear solver of labels": (LinearSolver(4, 2, 16), NETWORK),
    "latent solver": (LatentSolver(Harmonics(3), 2, 5, 4), GP),
    "kernel solver": (KernelSolver(3, 4), GP),
    "cell solver": (CellSolver(6, 2, rank=8), GP),
    "cell solver of several Normals": (CellSolver(6, 2, branches=2, rank=8), GP),
    "cell solver of two classes": (CellSolver(6, 2, rank=8), NETWORK),
    "cell solver of three": (CellSolver(6, 2, 2, 2, rank=8), BANDS),
    "step solver of two": (StepSolver(6, 2, rank=8), NETWORK),
    "step solver of three": (StepSolver(9, 2, rank=8), BANDS),
    "class solver of two": (ClassSolver(4, 2, 16), NETWORK),
    "class solver of three": (ClassSolver(4, 1, 0), BANDS),
    "class regression of three": (ClassRegression(8), BANDS),
}


PREDICTORS = {
    "pfn": (shaken(NetworkSettings(width=16, layers=2, attention_heads=2)), GP),
    "pfn of classes": (shaken(NetworkSettings(width=16, layers=2, attention_heads=2), BANDS), BANDS),
    "pfn of tables": (shaken(CELLS, TABLES), TABLES),
    "pfn of tables of reals": (shaken(CELLS, TABLES_OF_REALS), TABLES_OF_REALS),
    **{f"pfn, {name}": with_solver(solver, 2, prior) for name, (solver, prior) in SOLVERS.items()},
    **{f"pfn, {name} alone": with_solver(solver, 0, prior) for name, (solver, prior) in SOLVERS.items()},
    "attentive_neural_process": (shaken(NeuralProcessSettings(width=16)), GP),
    "exact_gp": (ExactGP(GP), GP),
    "exact_linear": (ExactLinear(LINEAR), LINEAR),
    "exact_mixture": (exact(MIXTURE), MIXTURE),
    "exact_beta_bernoulli": (ExactBetaBernoulli(COINS), COINS),
    "hyper_gp_oracle": (HyperGPOracle(HYPER_GP, num_samples=300), HYPER_GP),
    "mle2_gp": (MLE2GP(HYPER_GP), HYPER_GP),
    "nuts_gp": (NutsGP(HYPER_GP, num_samples=8), HYPER_GP),
    "nuts_gp_pyro": (NutsGP(HYPER_GP, num_samples=2, num_warmup=4, backend="pyro"), HYPER_GP),
    "collapsed_bnn": (CollapsedBNN(SMALL, num_samples=1024), SMALL),
    "nuts_bnn": (NutsBNN(NETWORK, num_samples=4), NETWORK),
    "nuts_bnn_pyro": (NutsBNN(NETWORK, num_samples=2, backend="pyro"), NETWORK),
    "svi_bnn": (SviBNN(NETWORK, num_steps=4), NETWORK),
    **{f"tuned_{name}": (method, SMALL) for name, method in METHODS.items()},
}

SAMPLED = frozenset({"nuts_gp", "nuts_gp_pyro", "nuts_bnn", "nuts_bnn_pyro", "svi_bnn"})
"""Names of those that run a chain or a stochastic optimiser: the order in which a context is summed changes the last
digits, and these the whole path, so two orders are answered alike only up to a Monte Carlo error. Their own tests
hold them to an exact answer within that error."""
