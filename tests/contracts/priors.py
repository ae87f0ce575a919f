"""Every prior, once: a new one is a new line here, and all of `test_priors.py` runs on it."""

import torch
from torch.distributions import LogNormal, Normal, Uniform

from priorfit.data import Classes, Real
from priorfit.priors import (
    ArchitecturePrior,
    BayesianNetwork,
    Beta,
    BetaBernoulli,
    Binarized,
    CategoricalFeatures,
    ClusteredInputs,
    Constant,
    Curves,
    Distorted,
    Empirical,
    FewShot,
    GammaRange,
    GaussianProcess,
    HyperGaussianProcess,
    LinearRegression,
    ManyFunctions,
    Mixture,
    NormalInputs,
    Objectives,
    PaddedFeatures,
    ScaledBeta,
    Standardized,
    Steps,
    Strokes,
    Tables,
    UniformInputs,
    WeightedFeatures,
)
from priorfit.priors.function import prior


@prior(num_features=1)
def damped_waves(x):
    """Waves that fade."""
    frequency = 2 + 8 * torch.rand(len(x), 1)
    decay = 3 * torch.rand(len(x), 1)
    y = torch.sin(frequency * x[..., 0]) * torch.exp(-decay * x[..., 0])
    return y + 0.05 * torch.randn_like(y)


@prior(num_features=1, frequency=Uniform(2.0, 10.0), noise=lambda frequency: LogNormal(-frequency / 4, 0.1))
def named_waves(x, frequency, noise):
    """Waves of which latents and law are named."""
    return Normal(torch.sin(frequency * x[..., 0]), noise)


@prior(num_features=2, inputs=NormalInputs(), outcome=Classes(3))
def three_classes(x):
    """The largest of three linear functions."""
    return (x @ torch.randn(len(x), 2, 3).to(x)).argmax(-1)


@prior(num_features=1, outcome=Classes(2))
def stripes(x):
    """Labels that alternate along x."""
    return (torch.rand(len(x), 1) * 10 * x[..., 0] + torch.rand(len(x), 1)).floor() % 2


ARCHITECTURES = ArchitecturePrior(
    layers=Constant(3),
    width=ScaledBeta(1.1, 1.3, maximum=9, minimum=3),
    noise_scale=GammaRange(k=(1.5, 5.0), theta=(0.01, 0.1)),
    sparsity=Beta(1.1, 4.0),
    activations=("tanh", "relu"),
)

PRIORS = {
    "gp": GaussianProcess(),
    "gp_matern12_noisy": GaussianProcess(num_features=3, kernel="matern12", noise=4.0),
    "gp_noiseless": GaussianProcess(num_features=2, kernel="matern52", noise=0.0, outputscale=9.0),
    "hyper_gp": HyperGaussianProcess(num_features=2),
    "hyper_gp_of_clusters": HyperGaussianProcess(inputs=ClusteredInputs()),
    "steps": Steps(num_features=2),
    "objectives": Objectives(num_features=3),
    "many_functions": ManyFunctions(num_features=2),
    "linear": LinearRegression(num_features=3),
    "beta_bernoulli": BetaBernoulli(alpha=2.0, beta=1.0),
    "network": BayesianNetwork(hidden=(6, 4), activation="tanh"),
    "network_of_classes": BayesianNetwork(num_features=2, outcome=Classes(3)),
    "labels_of_any_architecture": PaddedFeatures(
        Binarized(BayesianNetwork(architecture=ARCHITECTURES), num_reference=8), max_features=4
    ),
    "function": damped_waves,
    "program": named_waves,
    "function_of_classes": three_classes,
    "mixture": Mixture([GaussianProcess(), LinearRegression(inputs=UniformInputs())], weights=[0.3, 0.7]),
    "mixture_of_inputs": Mixture([GaussianProcess(inputs=UniformInputs(-1.0, 0.0)), damped_waves]),
    "mixture_of_labels": Mixture([BetaBernoulli(), Binarized(GaussianProcess()), stripes]),
    "binarized": Binarized(GaussianProcess(num_features=2), num_reference=32),
    "binarized_by_dataset": Binarized(GaussianProcess(), threshold="dataset_median"),
    "standardized": Standardized(LinearRegression(), num_reference=16),
    "tabular": PaddedFeatures(
        Binarized(
            Mixture([HyperGaussianProcess(), BayesianNetwork(architecture=ArchitecturePrior())], weights=[0.3, 0.7]),
            num_reference=16,
        ),
        max_features=5,
    ),
    "standardized_mixture": Standardized(Mixture([GaussianProcess(), damped_waves]), num_reference=16),
    "padded": PaddedFeatures(GaussianProcess(lengthscale=0.3, noise=0.01), max_features=4),
    "padded_labels": PaddedFeatures(
        Binarized(Mixture([GaussianProcess(), GaussianProcess(kernel="matern12")], weights=[0.3, 0.7])),
        max_features=5,
        min_features=2,
    ),
    "padded_by_a_sampler": PaddedFeatures(
        GaussianProcess(noise=0.01, inputs=NormalInputs()), max_features=4, used=Constant(2), rescaled="for_both"
    ),
    "categorical": PaddedFeatures(
        CategoricalFeatures(Binarized(LinearRegression(num_features=3), num_reference=16)), max_features=4
    ),
    "weighted": WeightedFeatures(GaussianProcess(num_features=3, noise=0.01)),
    "weighted_of_few_columns": PaddedFeatures(
        Standardized(
            WeightedFeatures(Mixture([LinearRegression(), GaussianProcess(num_features=2)])), num_reference=16
        ),
        max_features=4,
    ),
    "empirical": Empirical(torch.arange(48.0).reshape(2, 3, 4, 2), num_ways=3),
    "mixture_with_empirical": Mixture([three_classes, Empirical(torch.arange(48.0).reshape(2, 3, 4, 2), num_ways=3)]),
    "strokes": Strokes(num_ways=3, image_size=12),
    "tables": Tables(num_features=5, outcome=Classes(3), gaps=0.5),
    "tables_of_reals": Tables(num_features=4, outcome=Real()),
    "strokes_of_shots": Strokes(num_ways=3, num_shots=8, image_size=8),
    "curves": Curves(num_ways=3, image_size=8),
    "distorted": Distorted(Strokes(num_ways=3, image_size=8)),
    "few_shot": FewShot(Empirical(torch.arange(48.0).reshape(2, 3, 4, 2), num_ways=3), count=4),
}
