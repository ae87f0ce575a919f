from dataclasses import replace

import jax
import numpy as np
import pyro
import pytest
import torch
from numpyro.infer.util import potential_energy
from torch.distributions import Categorical, Normal

from priorfit.baselines.bnn import numpyro_bnn
from priorfit.baselines.bnn.pyro_bnn import pyro_model
from priorfit.baselines.bnn.weights import check_samplable, layers, num_weights
from priorfit.data import Classes, Real
from priorfit.errors import InputError
from priorfit.priors import ArchitecturePrior, BayesianNetwork
from priorfit.priors.bayesian_network import LARGE, SMALL
from priorfit.seeding import seeded

PRIORS = [
    SMALL,
    replace(LARGE, activation="tanh"),
    BayesianNetwork(num_features=2, hidden=(4, 6), activation="relu", outcome=Classes(3)),
    BayesianNetwork(num_features=2, hidden=(3,), activation="tanh", noise=0.2),
    BayesianNetwork(num_features=4, hidden=(), noise=0.2),
    BayesianNetwork(num_features=1, hidden=(1, 1), activation="tanh"),
]


def drawn(prior, batch_size=3, num_points=7):
    """Networks as the prior draws them: their weights as vectors, and their logits or means."""
    with seeded(0):
        x = torch.randn(batch_size, num_points, prior.num_features, dtype=torch.float64)
    with seeded(1):
        datasets = prior.draw(x)
    with seeded(1):
        shapes = [shape for i, o in prior.layer_shapes for shape in ((batch_size, i, o), (batch_size, 1, o))]
        weights = torch.cat([torch.randn(shape, dtype=torch.float64).flatten(1) for shape in shapes], dim=1)
    law = datasets.conditional(0)
    return x, datasets.y, weights, law.logits if isinstance(law, Categorical) else law.loc[..., None]


@pytest.mark.parametrize("prior", PRIORS)
def test_the_same_weights_give_the_outputs_that_the_prior_draws_in_torch_and_in_jax(prior):
    x, _, weights, expected = drawn(prior)
    assert weights.shape[1] == num_weights(prior)
    outputs = prior.outputs(x, list(layers(prior, weights)))
    with jax.enable_x64(True):
        by_jax = [
            numpyro_bnn.outputs(prior, jax.numpy.asarray(w.numpy()), p.numpy()) for w, p in zip(weights, x, strict=True)
        ]
    by_jax = torch.from_numpy(np.stack(by_jax))
    for each in (outputs, by_jax):
        normalised = each.log_softmax(-1) if isinstance(prior.outcome, Classes) else each
        torch.testing.assert_close(normalised, expected, rtol=1e-9, atol=1e-9)


def log_joint(prior, x, y, weights):
    output = prior.outputs(x[None], list(layers(prior, weights[None])))[0]
    law = (
        Categorical(logits=output, validate_args=False)
        if isinstance(prior.outcome, Classes)
        else Normal(output[:, 0], prior.noise**0.5)
    )
    return float(law.log_prob(y).sum() + Normal(0.0, 1.0).log_prob(weights).sum())


@pytest.mark.parametrize("num_context", [0, 7])
@pytest.mark.parametrize("prior", PRIORS)
def test_both_models_have_the_density_of_standard_normal_weights_and_the_targets(prior, num_context):
    x, y, weights, _ = drawn(prior, batch_size=1)
    x, y, weights = x[0, :num_context], y[0, :num_context], weights[0]
    expected = log_joint(prior, x, y, weights)

    conditioned = pyro.poutine.condition(pyro_model(prior), {"weights": weights})
    by_pyro = pyro.poutine.trace(conditioned).get_trace(x, y).log_prob_sum()
    assert float(by_pyro) == pytest.approx(expected, rel=1e-9)

    with jax.enable_x64(True):
        data = numpyro_bnn._filled_up(prior, x, y)
        energy = potential_energy(lambda *d: numpyro_bnn._model(prior, *d), data, {}, {"weights": weights.numpy()})
    assert len(data.y) == 8  # the rows beyond the context do not count
    assert float(energy) == pytest.approx(-expected, rel=1e-9)


def test_priors_without_one_shape_or_without_a_density_are_refused():
    with pytest.raises(InputError, match="NutsBNN samples the weights of one architecture"):
        check_samplable(BayesianNetwork(architecture=ArchitecturePrior()), "NutsBNN")
    with pytest.raises(InputError, match="SviBNN needs real targets with noise above 0; got noise = 0"):
        check_samplable(replace(SMALL, outcome=Real(), noise=0.0), "SviBNN")
    check_samplable(replace(SMALL, noise=0.0), "NutsBNN")
