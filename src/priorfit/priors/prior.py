"""What a prior is: inputs, and targets drawn for them."""

from abc import ABC, abstractmethod

from jaxtyping import Float, Num
from torch import Tensor

from priorfit.data import Datasets, Outcome
from priorfit.priors.inputs import Inputs


class Prior(ABC):
    """A distribution over functions plus a distribution of inputs.

    A prior is a frozen dataclass: its fields are the schema of a recipe's ``[prior]``. It says how many
    features ``sample`` draws, where inputs lie, what its targets are, and draws targets for given inputs.
    """

    num_features: int
    """How many columns `sample` draws."""

    inputs: Inputs
    """Where the inputs lie."""

    outcome: Outcome
    """``Real()`` or ``Classes(count)``; it decides head and encoder of y."""

    @abstractmethod
    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """Draw one function for each dataset of the batch and its targets at ``x``.

        The points of a dataset are exchangeable. A prior that knows how its targets are distributed given
        its latents sets ``Datasets.conditional``. A wrapper may return other inputs than it was given.
        """

    def targets(self, x: Float[Tensor, "batch points features"]) -> Num[Tensor, "batch points"]:
        """The targets alone of one draw at ``x``."""
        return self.draw(x).y

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """Draw inputs, then targets: ``x (batch, points, features)``, ``y (batch, points)``."""
        return self.draw(self.inputs.sample(batch_size, num_points, self.num_features))
