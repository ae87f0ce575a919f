"""Bayesian neural networks: a network with random weights for each dataset."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite, sqrt

import torch
from jaxtyping import Float
from torch import Tensor
from torch.distributions import Categorical, Normal

from priorfit.data import Classes, Datasets, Outcome, Real
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.architectures import ACTIVATIONS, ArchitecturePrior
from priorfit.priors.conditionals import FixedConditional
from priorfit.priors.inputs import Inputs, NormalInputs
from priorfit.priors.prior import Prior


@dataclass(frozen=True)
class BayesianNetwork(Prior):
    """A fully connected network whose weights and biases are drawn from N(0, 1) for each dataset.

    With ``outcome=Classes(K)`` it has K outputs and labels are drawn from their softmax; with ``Real()`` it has one,
    and the targets are N(output, noise), where ``noise`` is a variance. ``activation`` stands between the layers:
    "tanh", "relu", or None, as in the authors' released code (the logits are then linear in x, see
    `CollapsedBNN`). An ``architecture`` draws another network for each dataset, in place of ``hidden``,
    ``activation`` and ``noise``; the noise of an output is then added to logits too.

    >>> network = BayesianNetwork(num_features=3, hidden=(5,), activation="tanh", outcome=Classes(2))
    >>> network.sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    >>> BayesianNetwork(architecture=ArchitecturePrior()).sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    num_features: int = 3
    hidden: Sequence[int] = (5,)
    activation: str | None = None
    outcome: Outcome = Real()
    noise: float = 0.01
    architecture: ArchitecturePrior | None = None
    inputs: Inputs = NormalInputs()

    offers_expected = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        object.__setattr__(self, "hidden", tuple(self.hidden))
        if self.num_features < 1 or any(width < 1 for width in self.hidden):
            raise InputError(
                f"num_features and hidden must be at least 1; got {self.num_features} and {list(self.hidden)}."
            )
        if self.activation is not None and self.activation not in ACTIVATIONS:
            raise InputError(f"activation must be None or one of {', '.join(ACTIVATIONS)}; got {self.activation!r}.")
        if not (self.noise >= 0 and isfinite(self.noise)):
            raise InputError(f"noise is a variance: at least 0 and finite; got {self.noise}.")
        fixed = tuple(getattr(self, name) for name in ("hidden", "activation", "noise"))
        if self.architecture is not None and fixed != ((5,), None, 0.01):
            raise InputError("an architecture draws hidden, activation and noise; leave those three out.")

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        outputs, scale = self._fixed(x) if self.architecture is None else self._drawn(x, self.architecture)
        if isinstance(self.outcome, Classes):
            logits = outputs if self.architecture is None else outputs + scale[..., None] * torch.randn_like(outputs)
            classes = Categorical(logits.softmax(-1), validate_args=False)
            return Datasets(x, classes.sample().to(x.dtype), FixedConditional(classes))
        reals = Normal(outputs[..., 0], scale, validate_args=False)
        return Datasets(x, reals.sample(), FixedConditional(reals))

    @property
    def _num_outputs(self) -> int:
        return self.outcome.count if isinstance(self.outcome, Classes) else 1

    @property
    def layer_shapes(self) -> tuple[tuple[int, int], ...]:
        """How many units enter and leave each layer of a network of fixed form.

        >>> BayesianNetwork(num_features=3, hidden=(5,), outcome=Classes(2)).layer_shapes
        ((3, 5), (5, 2))
        """
        return tuple(pairwise((self.num_features, *self.hidden, self._num_outputs)))

    def outputs(
        self, x: Float[Tensor, "batch points features"], layers: Sequence[tuple[Tensor, Tensor]]
    ) -> Float[Tensor, "batch points outputs"]:
        """The outputs of networks of fixed form; a layer has weights (batch, in, out) and biases (batch, 1, out)."""
        units = x
        for layer, (weight, bias) in enumerate(layers):
            if layer > 0 and self.activation is not None:
                units = ACTIVATIONS[self.activation](units)
            units = torch.baddbmm(bias, units, weight)  # (batch, points, out)
        return units

    def _fixed(
        self, x: Float[Tensor, "batch points features"]
    ) -> tuple[Float[Tensor, "batch points outputs"], Float[Tensor, "batch points"]]:
        """The outputs of networks of one form, and the standard deviation of the noise."""
        layers = [
            (x.new_empty(len(x), before, after).normal_(), x.new_empty(len(x), 1, after).normal_())
            for before, after in self.layer_shapes
        ]
        return self.outputs(x, layers), torch.full_like(x[..., 0], sqrt(self.noise))

    def _drawn(
        self, x: Float[Tensor, "batch points features"], architecture: ArchitecturePrior
    ) -> tuple[Float[Tensor, "batch points outputs"], Float[Tensor, "batch points"]]:
        """Outputs and noise of networks that differ; each has its own width, which is cheaper than padding to one."""
        architectures = architecture.sample(len(x))
        pairs = zip(architectures, x, strict=True)
        outputs = torch.stack([each.outputs(points, self._num_outputs) for each, points in pairs])
        scales = x.new_tensor([each.noise_scale for each in architectures])  # (batch)
        return outputs, scales[:, None].expand(x.shape[:-1])


SMALL = BayesianNetwork(num_features=3, hidden=(5,), outcome=Classes(2))
"""The smaller network of the paper's study of BNNs, as its authors' code draws it; ``replace`` its activation."""

LARGE = BayesianNetwork(num_features=8, hidden=(64,), outcome=Classes(2))
"""The larger network of the same study."""
