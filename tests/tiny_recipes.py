"""Small recipes that the tests of training share."""

from dataclasses import replace

from priorfit.network import NetworkSettings, NormalMixtureHead
from priorfit.priors import GaussianProcess
from priorfit.training import Budget, DataSettings, OptimiserSettings, Recipe

TINY_NETWORK = NetworkSettings(width=16, layers=2, attention_heads=2, feedforward=16, output=NormalMixtureHead(3))


def tiny_recipe(steps: int = 8, micro_batches: int = 1, **changes: object) -> Recipe:
    """A recipe whose steps take milliseconds."""
    recipe = Recipe(
        prior=GaussianProcess(lengthscale=0.3),
        num_points=8,
        budget=Budget(steps=steps),
        name="tiny",
        network=TINY_NETWORK,
        data=DataSettings(batch_size=4, micro_batches=micro_batches),
        optimiser=OptimiserSettings(averaging=0.9),
    )
    return replace(recipe, **changes)


TINY_TOML = """
name = "tiny"
num_points = 8
[budget]
steps = {steps}
[prior]
type = "GaussianProcess"
lengthscale = 0.3
[network]
width = 16
layers = 2
attention_heads = 2
feedforward = 16
output = {{type = "NormalMixtureHead", components = 3}}
[data]
batch_size = 4
micro_batches = {micro_batches}
[optimiser]
averaging = 0.9
"""
