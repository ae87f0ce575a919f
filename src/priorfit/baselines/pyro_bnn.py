"""`BayesianNetwork` as a model of Pyro, and Pyro's NUTS on it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import sqrt

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.baselines.bnn_chains import Chains, ChainSettings
from priorfit.baselines.bnn_weights import layers, num_weights
from priorfit.baselines.deadline import Deadline
from priorfit.data import Classes
from priorfit.extras import needs_extra
from priorfit.priors.bayesian_network import BayesianNetwork
from priorfit.seeding import seeded

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


@contextmanager
def inference(seed: int, *data: Tensor) -> Iterator[list[Tensor]]:
    """Run Pyro on copies of the data: seeded, with gradients whatever the caller has set, and leaving no trace.

    Pyro's checks of arguments are off, as its ``MCMC`` has it: they take a third of the time of a step.
    """
    with (
        seeded(seed),
        torch.inference_mode(False),
        torch.enable_grad(),
        pyro.validation_enabled(False),
        pyro.get_param_store().scope(),
    ):
        yield [tensor.detach().clone() for tensor in data]


def pyro_chains(
    prior: BayesianNetwork,
    settings: ChainSettings,
    x: Float[Tensor, "context features"],
    y: Num[Tensor, " context"],
) -> Chains:
    """One chain of Pyro's NUTS with its default settings, as in the paper, in the dtype of ``x``.

    Pyro's ``MCMC`` does the same steps but has no clock.
    """
    deadline = Deadline(settings.time_limit)
    kernel = NUTS(pyro_model(prior))
    with inference(settings.seed, x, y) as data:
        kernel.setup(settings.num_warmup, *data)
        state = kernel.initial_params
        for _ in range(settings.num_warmup):
            state = kernel.sample(state)
            if deadline.is_past:
                raise deadline.missed("NutsBNN", "warm-up")
        drawn = []
        while len(drawn) < settings.num_samples and not (drawn and deadline.is_past):
            state = kernel.sample(state)
            drawn.append(state[SITE].detach())
    return Chains(
        samples=torch.stack(drawn)[None],
        num_divergences=len(kernel.diagnostics()["divergences"]),
        is_cut_short=len(drawn) < settings.num_samples,
    )
