"""Tasks with any number of classes and labelled points of each, from a prior of classes."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from priorfit.data import Batch, Classes, Datasets, Outcome
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.class_conditional import ClassConditional
from priorfit.priors.inputs import Inputs
from priorfit.priors.prior import Prior


@dataclass(frozen=True)
class FewShot(Prior):
    """Few-shot tasks: each dataset has ``fewest_ways`` to ``prior.num_ways`` classes, of which each is in its context.

    Given the number n of points of a context, the number K of classes is uniform over what n allows, at least n /
    ``most_shots``; n // K points of each class come in random order, then the rest. Labels of that rest and of the
    queries are independent and uniform, so that no label can be inferred by counting. A model of ``count`` classes (by
    default the prior's ``num_ways``) is trained on the first K of them.

    >>> from priorfit.priors.strokes import Strokes
    >>> tasks = FewShot(Strokes(num_ways=5), count=20).sample_split(batch_size=2, num_context=5, num_queries=3)
    >>> tasks.context_x.shape, tasks.query_y.shape
    (torch.Size([2, 5, 784]), torch.Size([2, 3]))
    """

    prior: ClassConditional
    fewest_ways: int = 2
    most_shots: int = 8
    count: int | None = None

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)
    fewest_classes: int | None = field(init=False, repr=False)

    draws_own_inputs = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_fields(self)
        most, count = self.prior.num_ways, self.count or self.prior.num_ways
        if not 2 <= self.fewest_ways <= most <= count or self.most_shots < 1:
            raise InputError(
                "FewShot needs 2 <= fewest_ways <= num_ways of its prior <= count, and most_shots >= 1; got "
                f"fewest_ways={self.fewest_ways}, num_ways={most}, count={count}, most_shots={self.most_shots}."
            )
        derived = {
            "num_features": self.prior.num_features,
            "inputs": self.prior.inputs,
            "outcome": Classes(count),
            "fewest_classes": self.fewest_ways,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`; the inputs that it returns are its own."""
        drawn = self.sample(*x.shape[:2])
        return Datasets(drawn.x.to(x), drawn.y.to(x))

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """See `Prior.sample`; without a context no point is any different from the others."""
        return self._datasets(_uniform(self._ways(batch_size, 0), num_points))

    def sample_split(self, batch_size: int, num_context: int, num_queries: int) -> Batch:
        """See `Prior.sample_split`."""
        ways = self._ways(batch_size, num_context)
        shots = num_context // ways  # 0 where the context is smaller than the number of classes
        order = torch.rand(batch_size, num_context).masked_fill(
            torch.arange(num_context) >= (ways * shots)[:, None], 2.0
        )
        balanced = order.argsort(-1).argsort(-1) % ways[:, None]  # ranks: each class as often as any other
        is_rest = order == 2.0
        labels = torch.where(is_rest, _uniform(ways, num_context), balanced)
        return self._datasets(torch.cat([labels, _uniform(ways, num_queries)], dim=1)).split(num_context)

    def _ways(self, batch_size: int, num_context: int) -> Int[Tensor, " batch"]:
        """The number of classes of each dataset; each has a point in the context where that is large enough."""
        most = max(self.fewest_ways, min(self.prior.num_ways, num_context or self.prior.num_ways))
        least = min(most, max(self.fewest_ways, -(-num_context // self.most_shots)))
        return torch.randint(least, most + 1, (batch_size,))

    def _datasets(self, labels: Int[Tensor, "batch points"]) -> Datasets:
        x = self.prior.features(labels)
        return Datasets(x, labels.to(x.dtype))


def _uniform(ways: Int[Tensor, " batch"], num_points: int) -> Int[Tensor, "batch points"]:
    """Independent labels, uniform over the classes of each dataset."""
    share = torch.rand(len(ways), num_points, dtype=torch.float64)
    return (share * ways[:, None]).long()
