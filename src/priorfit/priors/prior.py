"""What a prior is: inputs, and targets drawn for them."""

from abc import ABC, abstractmethod
from typing import Any, Literal

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.data import Batch, Datasets, Outcome
from priorfit.priors.inputs import Inputs


class Prior(ABC):
    """A distribution over functions plus a distribution of inputs.

    A prior is a frozen dataclass: its fields are the schema of a recipe's ``[prior]``. It says how many
    features ``sample`` draws, where inputs lie, what its targets are, and draws targets for given inputs.
    """

    num_features: int
    """How many columns `sample` draws."""

    inputs: Inputs
    """The distribution of the inputs."""

    outcome: Outcome
    """``Real()`` or ``Classes(count)``; it decides head and encoder of y."""

    offers_expected: bool = False
    """Whether every draw has a conditional, so that a loss can take the expectation over the targets."""

    latents: tuple[Any, ...] = ()
    """The latents that it names (each a `Latent`), whose draws come with the datasets."""

    num_extra: int = 0
    """How many points `draw` uses up for a statistic: the first ones, which it does not return."""

    draws_own_inputs: bool = False
    """Whether inputs follow from what is drawn, so that `draw` takes the shape alone of those that it is given."""

    shares_latents: bool = False
    """Whether datasets of a batch have something in common, such as the number of columns, and are not independent.

    `check_prior` calls this a fault unless it is declared here.
    """

    fewest_features: int | None = None
    """Fewest columns of a batch, where batches differ in that; None where all have ``num_features``."""

    shows_as_read: bool = False
    """Whether datasets come as a trained model reads them, so that a training from it changes weights alone."""

    draws_missing: bool = False
    """Whether some inputs may be NaN, a value that is missing."""

    fewest_classes: int | None = None
    """Fewest classes of a dataset, where datasets differ in that; None where all have those of the outcome."""

    answers: Literal["observations", "function"] = "observations"
    """What the queries of a split hold: noisy observations, as the context, or the function below them."""

    padding: Literal["rescaled", "plain"] = "rescaled"
    """Whether columns in use are multiplied by num_features / used where there are fewer, as `PaddedFeatures` does."""

    @property
    def uses_whole_dataset(self) -> bool:
        """Whether its targets use all points of their dataset, as counts or a cut at the dataset's own median do.

        Some targets then determine others. `check_prior` calls this a fault unless it is declared here.
        """
        return False

    @abstractmethod
    def draw(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """Draw one function for each dataset of the batch and its targets at ``x``.

        The points of a dataset are exchangeable. A prior that knows how its targets are distributed given
        its latents sets ``Datasets.conditional`` and says ``offers_expected``. The first ``num_extra`` points
        are not returned (`targets` and `sample` add them), and a wrapper may return other inputs than it was
        given.
        """

    def targets(self, x: Float[Tensor, "batch points features"]) -> Num[Tensor, "batch points"]:
        """The targets alone of one draw at ``x``."""
        batch_size, _, num_features = x.shape
        extra = self.inputs.sample(batch_size, self.num_extra, num_features).to(x)
        return self.draw(torch.cat([extra, x], dim=-2)).y

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """Draw inputs, then targets: ``x (batch, points, features)``, ``y (batch, points)``.

        Only a prior whose inputs depend on the function that is drawn, as a `Mixture`'s do, has its own form.
        """
        return self.draw(self.inputs.sample(batch_size, num_points + self.num_extra, self.num_features))

    def sample_split(self, batch_size: int, num_context: int, num_queries: int) -> Batch:
        """Draw datasets and split them into context and queries; training draws its batches so.

        Only a prior whose labels depend on where the context ends, as those of few-shot tasks do, has its own form.
        """
        return self.sample(batch_size, num_context + num_queries).split(num_context)
