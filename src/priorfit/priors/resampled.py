"""Rows of real tables as datasets: the prior of fine-tuning where a table is a task of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Num
from torch import Tensor

from priorfit.data import Classes, Datasets, Outcome, Real
from priorfit.errors import InputError, ShapeError
from priorfit.fields import check_fields
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.prior import Prior

RealTable = tuple[Num[Tensor, "_ *_"], Num[Tensor, " _"]]


@dataclass(frozen=True, eq=False)
class ResampledTables(Prior):
    """Datasets that are random rows of a real table, without replacement.

    Tables may differ in columns (all datasets of a batch have as many), rows and numbers of classes; labels mean the
    same in all of them, 0 ... ``count`` - 1 of the ``outcome``. For classes that are drawn anew in each dataset, see
    `Empirical`.

    >>> tables = [(torch.randn(50, 3), torch.randn(50)), (torch.randn(40, 2), torch.randn(40))]
    >>> ResampledTables(tables).sample(batch_size=4, num_points=20).y.shape
    torch.Size([4, 20])
    """

    tables: Sequence[RealTable] = field(repr=False, metadata={"described": False})
    outcome: Outcome = Real()
    name: str = "tables"

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    fewest_features: int | None = field(init=False, repr=False)
    shares_latents: bool = field(init=False, repr=False)

    draws_own_inputs = True

    def __post_init__(self) -> None:
        """Check the tables."""
        check_fields(self)
        tables = tuple((x, y) for x, y in self.tables)
        if not tables:
            raise InputError("ResampledTables needs at least one table; got none.")
        for index, (x, y) in enumerate(tables):
            _check_table(index, x, y, self.outcome)
        numbers = torch.cat([x.flatten().to(torch.get_default_dtype()) for x, _ in tables])
        low, high = float(numbers.min()), float(numbers.max())
        widths = {x.shape[1] for x, _ in tables}
        derived = {
            "tables": tables,
            "num_features": max(widths),
            "fewest_features": min(widths) if len(widths) > 1 else None,
            "shares_latents": len(widths) > 1,
            "inputs": UniformInputs(low, max(high, low + 1e-6)),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        """The name of the prior."""
        return self.name

    @property
    def most_points(self) -> int:
        """Most points of a dataset: the rows of the largest table."""
        return max(len(y) for _, y in self.tables)

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`; rows come with their own inputs, of which ``x`` tells the number alone."""
        drawn = self.sample(*x.shape[:2])
        return Datasets(drawn.x.to(x), drawn.y.to(x))

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """See `Prior.sample`."""
        large = [(x, y) for x, y in self.tables if len(y) >= num_points]
        if not large:
            raise InputError(
                f"no table has {num_points} rows; the largest has {self.most_points}. Lower num_points or num_queries."
            )
        columns = large[int(torch.randint(len(large), ()))][0].shape[1]
        alike = [(x, y) for x, y in large if x.shape[1] == columns]
        chosen = [alike[index] for index in torch.randint(len(alike), (batch_size,)).tolist()]
        rows = [torch.randperm(len(y))[:num_points] for _, y in chosen]
        parts = [(x[row], y[row]) for (x, y), row in zip(chosen, rows, strict=True)]
        x, y = (torch.stack(part).to(torch.get_default_dtype()) for part in zip(*parts, strict=True))
        return Datasets(x, y)


def _check_table(index: int, x: Tensor, y: Tensor, outcome: Outcome) -> None:
    if x.ndim != 2 or y.shape != x.shape[:1] or not x.numel():
        raise ShapeError(
            f"table {index} must have x (rows, columns) and y (rows,), none of them 0; got {tuple(x.shape)} and "
            f"{tuple(y.shape)}."
        )
    if not bool(y.isfinite().all()) or bool(x.isinf().any()):
        raise InputError(f"table {index} holds targets that are missing, or infinite values. Drop those rows.")
    if isinstance(outcome, Classes) and not (bool((y == y.round()).all()) and y.min() >= 0 and y.max() < outcome.count):
        raise InputError(
            f"targets of table {index} must be classes 0 ... {outcome.count - 1}; got values from {float(y.min()):g} "
            f"to {float(y.max()):g}."
        )
