"""`BayesianNetwork` as a model of Pyro, and Pyro's NUTS on it."""

from collections.abc import Callable
from functools import partial
from math import sqrt

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.baselines.bnn.chains import Chains, ChainSettings
from priorfit.baselines.bnn.weights import layers, num_weights
from priorfit.baselines.deadline import Deadline
from priorfit.baselines.pyro_nuts import inference, run
from priorfit.data import Classes
from priorfit.extras import needs_extra
from priorfit.priors.bayesian_network import BayesianNetwork

with needs_extra("baselines"):
    import pyro
    from pyro import distributions as dist
    from pyro.infer import NUTS

SITE = "weights"

Model = Callable[[Float[Tensor, "context features"], Num[Tensor, " context"]], None]


def pyro_model(prior: BayesianNetwork) -> Model:
    """The joint density of all weights (the site ``weights``, one vector) and the targets of one dataset."""
    return partial(_model, prior)


def _model(prior: BayesianNetwork, x: Float[Tensor, "context features"], y: Num[Tensor, " context"]) -> None:
    zeros = x.new_zeros(num_weights(prior))
    weights = pyro.sample(SITE, dist.Normal(zeros, torch.ones_like(zeros)).to_event(1))
    outputs = prior.outputs(x[None], list(layers(prior, weights[None])))[0]  # (context, outputs)
    if isinstance(prior.outcome, Classes):
        pyro.sample("y", dist.Categorical(logits=outputs, validate_args=False).to_event(1), obs=y.long())
    else:
        pyro.sample("y", dist.Normal(outputs[..., 0], sqrt(prior.noise)).to_event(1), obs=y.to(x.dtype))


def pyro_chains(
    prior: BayesianNetwork,
    settings: ChainSettings,
    x: Float[Tensor, "context features"],
    y: Num[Tensor, " context"],
) -> Chains:
    """One chain of Pyro's NUTS with its default settings, as in the paper, in the dtype of ``x``."""
    deadline = Deadline(settings.time_limit)
    with inference(settings.seed, x, y) as data:
        num_steps = settings.num_warmup, settings.num_samples
        visited = run(NUTS(pyro_model(prior)), SITE, num_steps, data, deadline)
    if visited is None:
        raise deadline.missed("NutsBNN", "warm-up")
    is_cut_short = len(visited.positions) < settings.num_samples
    return Chains(visited.positions[None], visited.num_divergences, is_cut_short)
