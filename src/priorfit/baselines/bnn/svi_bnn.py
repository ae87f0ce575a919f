"""Bayes-by-Backprop: stochastic variational inference on all weights of a Bayesian network, by Pyro."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor
from torch.distributions import Categorical

from priorfit.baselines.bnn.predictive import averaged
from priorfit.baselines.bnn.pyro_bnn import pyro_model
from priorfit.baselines.bnn.weights import check_samplable
from priorfit.baselines.deadline import Deadline
from priorfit.baselines.one_by_one import one_by_one
from priorfit.baselines.pyro_nuts import inference
from priorfit.distributions import NormalMixture
from priorfit.errors import InputError
from priorfit.extras import needs_extra
from priorfit.priors.bayesian_network import BayesianNetwork

with needs_extra("baselines"):
    from pyro.infer import SVI, Trace_ELBO
    from pyro.infer.autoguide import AutoDiagonalNormal
    from pyro.optim import PyroOptim


@dataclass(frozen=True)
class Guide:
    """The Normal distribution of each weight that was fitted to one dataset, and draws of it."""

    loc: Float[Tensor, " weights"]
    scale: Float[Tensor, " weights"]
    samples: Float[Tensor, "samples weights"]
    num_steps: int
    is_cut_short: bool
    """Whether the time limit came before all steps."""


@dataclass(frozen=True)
class SviBNNPosterior:
    """A guide for each dataset; ``guides`` has the last axis of the batch fastest."""

    prior: BayesianNetwork
    batch_shape: tuple[int, ...]
    guides: Sequence[Guide]

    def predict(self, query_x: Float[Tensor, "*batch query features"]) -> Categorical | NormalMixture:
        """The average over the draws: a Categorical for classes, else a `NormalMixture`."""
        return averaged(self.prior, [guide.samples for guide in self.guides], query_x)

    @property
    def is_cut_short(self) -> Bool[Tensor, "*batch"]:
        """Whether the time limit came before all steps, for each dataset."""
        return torch.tensor([guide.is_cut_short for guide in self.guides], dtype=torch.bool).reshape(self.batch_shape)


@dataclass(frozen=True)
class SviBNN:
    """The posterior of a `BayesianNetwork` of fixed form by Bayes-by-Backprop (Blundell et al.).

    A Normal distribution of each weight, independent of the others, is fitted by Adam to the evidence lower bound,
    with one sampled network a step; predictions are averaged over draws of it. The paper: "We scaled both the
    training steps and number of samples averaged together to increase approximation quality"; so by default there
    are as many draws as steps. The default learning rate is that of the authors' code. All datasets have one seed.

    Args:
        prior: a network of fixed form, so without ``architecture``.
        num_steps: number of steps of Adam.
        num_samples: None for as many as there are steps.
        learning_rate: learning rate of Adam.
        seed: the same for every dataset.
        time_limit: seconds for one dataset. When it ends, the guide of the steps so far is the answer.

    >>> from priorfit.data import Classes
    >>> prior = BayesianNetwork(num_features=1, hidden=(2,), activation="tanh", outcome=Classes(2))
    >>> tasks = prior.sample(batch_size=2, num_points=10).split(num_context=5)
    >>> posterior = SviBNN(prior, num_steps=4).condition(tasks.context_x, tasks.context_y)
    >>> posterior.predict(tasks.query_x).probs.shape, posterior.guides[0].samples.shape
    (torch.Size([2, 5, 2]), torch.Size([4, 10]))
    """

    prior: BayesianNetwork
    num_steps: int = 1024
    num_samples: int | None = None
    learning_rate: float = 1e-3
    seed: int = 0
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        check_samplable(self.prior, "SviBNN")
        Deadline(self.time_limit)
        for name in ("num_steps", "num_samples"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise InputError(f"{name} must be at least 1; got {count}.")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be above 0; got {self.learning_rate}.")

    def condition(
        self,
        context_x: Float[Tensor, "*batch context features"],
        context_y: Num[Tensor, "*batch context"],
    ) -> SviBNNPosterior:
        """See `Predictor.condition`; all fitting and drawing happens here, one dataset after the other."""
        return SviBNNPosterior(self.prior, context_y.shape[:-1], one_by_one(context_x, context_y, self._fitted))

    def _fitted(self, x: Float[Tensor, "context features"], y: Num[Tensor, " context"]) -> Guide:
        deadline = Deadline(self.time_limit)
        model = pyro_model(self.prior)
        guide = AutoDiagonalNormal(model)
        svi = SVI(model, guide, PyroOptim(torch.optim.Adam, {"lr": self.learning_rate}), Trace_ELBO())
        num_steps = 0
        with inference(self.seed, x, y) as data:
            while num_steps < self.num_steps and not deadline.is_past:
                svi.step(*data)
                num_steps += 1
            if num_steps == 0:
                raise deadline.missed("SviBNN", "first step")
            fitted = guide.get_posterior()
            samples = fitted.sample((self.num_steps if self.num_samples is None else self.num_samples,))
        loc, scale = fitted.mean.detach().clone(), fitted.stddev.detach().clone()
        return Guide(loc, scale, samples, num_steps, num_steps < self.num_steps)
