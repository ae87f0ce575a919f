"""What stands in front of the transformer and behind it: the regression layer, and the head that it guides."""

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.network.class_regression import ClassRegression
from priorfit.network.guided import GuidedHead, ShapedMixture, guided
from priorfit.network.heads import Head, MixtureOfNormals, NormalMixtureHead
from priorfit.network.latent_regression import LatentLayer, LatentRegression
from priorfit.network.problem import Problem
from priorfit.network.regression import RealRegression, Regression, RegressionLayer
from priorfit.network.settings import NetworkSettings


def regression_and_head(
    settings: NetworkSettings, problem: Problem, sample: Float[Tensor, " sample"] | None
) -> tuple[RegressionLayer | None, Head]:
    """The layer in front, if the settings ask for one, and the head, which is then guided by it."""
    match settings.regression:
        case None:
            return None, settings.head_for(problem).build(problem.outcome, sample)
        case LatentRegression() as regression:
            return latent_layer_and_head(regression, settings, problem)
        case Regression() as regression:
            encoder = settings.encoder_for(problem).build(problem.num_features, regression.encoded, problem.input_range)
            residuals = torch.special.ndtri(torch.linspace(5e-5, 1 - 5e-5, 10_000))  # what bars are laid over
            head = guided(settings.head_for(problem).build(problem.outcome, None if sample is None else residuals))
            layer = ClassRegression if isinstance(problem.outcome, Classes) else RealRegression
            return layer(regression, encoder, settings.width), head


def latent_layer_and_head(
    regression: LatentRegression, settings: NetworkSettings, problem: Problem
) -> tuple[RegressionLayer, Head]:
    """A mixture of as many Normals as there are adapted regressions."""
    if isinstance(problem.outcome, Classes):
        raise InputError("LatentRegression is for real targets; use a Regression for two classes.")
    if settings.head not in (None, NormalMixtureHead(regression.adapted)):
        raise InputError(
            f"LatentRegression with adapted={regression.adapted} guides a NormalMixtureHead of as many components; "
            f"got {settings.head}. Leave network.head out."
        )
    basis = regression.basis.build(problem.num_features, problem.input_range)
    head = GuidedHead(ShapedMixture(MixtureOfNormals(regression.adapted)))
    return LatentLayer(regression, basis, settings.width), head
