"""What `check_prior` draws of a prior, and how many."""

from dataclasses import dataclass
from time import perf_counter

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Datasets
from priorfit.errors import PriorError, PriorfitError
from priorfit.priors.prior import Prior
from priorfit.seeding import seeded


@dataclass(frozen=True)
class Draws:
    """How much is drawn, and from which seed; each kind of draw has a stream of its own."""

    num_points: int
    batch_size: int
    num_batches: int
    seed: int

    @property
    def num_inputs(self) -> int:
        """How many inputs all datasets of these batches have."""
        return self.num_batches * self.batch_size * self.num_points

    def with_batches(self, num_batches: int, batch_size: int) -> "Draws":
        """A copy with another number and size of batches."""
        return Draws(self.num_points, batch_size, num_batches, self.seed)


def timed_sample(prior: Prior, draws: Draws) -> tuple[Datasets, float]:
    """One batch, and the seconds that it took; an error of the prior's own code is reported as a fault."""
    with seeded(draws.seed):
        start = perf_counter()
        try:
            datasets = prior.sample(draws.batch_size, draws.num_points)
        except PriorfitError as error:
            raise PriorError(f"no network can be fitted to prior {prior}:\n  - {error}") from error
        except Exception as error:
            size = f"{draws.batch_size} datasets of {draws.num_points} points"
            raise PriorError(
                f"no network can be fitted to prior {prior}:\n  - drawing {size} fails with {type(error).__name__}: "
                f"{error} The error above this one shows the line."
            ) from error
        return datasets, perf_counter() - start


def independent_inputs(prior: Prior, draws: Draws) -> Float[Tensor, "datasets points features"]:
    """Inputs that are shuffled over all datasets: no order and no design of a single dataset is left in them."""
    x = prior.inputs.sample(draws.num_batches * draws.batch_size, draws.num_points, prior.num_features)
    return x.flatten(0, 1)[torch.randperm(draws.num_inputs)].reshape(x.shape)


def targets_at(
    prior: Prior, x: Float[Tensor, "datasets points features"], batch_size: int
) -> Float[Tensor, "datasets points"]:
    """The targets of datasets that are drawn in batches, each a clone, so that no batch changes another's inputs."""
    parts = []
    for part in x.split(batch_size):
        y = prior.targets(part.clone()).double()
        if y.shape != part.shape[:-1] or not bool(y.isfinite().all()):
            finite = float(y.isfinite().double().mean())
            raise PriorError(
                f"no network can be fitted to prior {prior}:\n  - each draw must have finite targets of shape "
                f"(batch, points) = {tuple(part.shape[:-1])}; got shape {tuple(y.shape)}, {finite:.2%} of them finite."
            )
        parts.append(y)
    return torch.cat(parts)


def targets_where_possible(
    prior: Prior, x: Float[Tensor, "datasets points features"], batch_size: int
) -> Float[Tensor, "datasets points"] | None:
    """Targets at inputs with repeated points, or None where the prior cannot draw them, which is no fault."""
    try:
        return targets_at(prior, x, batch_size)
    except (PriorfitError, ArithmeticError, RuntimeError, ValueError):
        return None
