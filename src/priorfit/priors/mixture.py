"""A prior that is one of several for each dataset."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributions import Categorical

from priorfit.data import Batch, Datasets, Outcome
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.conditionals import JoinedConditional
from priorfit.priors.inputs import Inputs, MixtureInputs, check_weights, choices
from priorfit.priors.latents import Latent
from priorfit.priors.prior import Prior


@dataclass(frozen=True)
class Mixture(Prior):
    """Each dataset comes from one of several priors, chosen with the given weights (equal ones by default).

    ``sample`` draws the inputs of a dataset as its component does; ``draw`` chooses components for the inputs
    it is given. Priors that differ in ``num_features`` need `PaddedFeatures` around the mixture. Where some
    components know their targets' distribution, the datasets of the others count as point masses at what was
    drawn. ``kinds`` names the priors: the component of a dataset is then its latent ``kind``, which networks infer.

    >>> from priorfit.priors.gaussian_process import GaussianProcess
    >>> mixture = Mixture([GaussianProcess(kernel="rbf"), GaussianProcess(kernel="matern12")], weights=[0.3, 0.7])
    >>> mixture.sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """

    priors: Sequence[Prior]
    weights: Sequence[float] | None = None
    kinds: Sequence[str] | None = None

    num_features: int = field(init=False, repr=False)
    inputs: Inputs = field(init=False, repr=False)
    outcome: Outcome = field(init=False, repr=False)
    num_extra: int = field(init=False, repr=False)
    offers_expected: bool = field(init=False, repr=False)
    fewest_classes: int | None = field(init=False, repr=False)
    latents: tuple[Latent, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check that the components agree."""
        check_fields(self)
        priors = tuple(self.priors)
        weights = None if self.weights is None else tuple(float(weight) for weight in self.weights)
        _check_components(priors, weights)
        inputs = tuple(prior.inputs for prior in priors)
        fewest = [prior.fewest_classes for prior in priors if prior.fewest_classes is not None]
        derived = {
            "priors": priors,
            "weights": weights,
            "num_features": max(prior.num_features for prior in priors),
            "inputs": inputs[0] if len(set(inputs)) == 1 else MixtureInputs(inputs, weights),
            "outcome": priors[0].outcome,
            "num_extra": max(prior.num_extra for prior in priors),
            "offers_expected": any(prior.offers_expected for prior in priors),
            "fewest_classes": min(fewest) if fewest else None,
            "latents": _kind(self.kinds, weights, len(priors)),
            "kinds": None if self.kinds is None else tuple(self.kinds),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def has_own_inputs(self) -> bool:
        """Whether the priors differ in their inputs or in the number of features, so that a batch is no single draw."""
        return isinstance(self.inputs, MixtureInputs) or self._differ_in_features

    @property
    def uses_whole_dataset(self) -> bool:
        """See `Prior.uses_whole_dataset`."""
        return any(prior.uses_whole_dataset for prior in self.priors)

    @property
    def _differ_in_features(self) -> bool:
        return len({prior.num_features for prior in self.priors}) > 1

    def draw(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Prior.draw`."""
        rows = self._rows(len(x))
        parts = [
            prior.draw(x[chosen.to(x.device), self.num_extra - prior.num_extra :])
            for prior, chosen in zip(self.priors, rows, strict=True)
            if len(chosen) > 0
        ]
        return self._joined(parts, rows)

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """See `Prior.sample`; each component draws its own inputs."""
        if self._differ_in_features:
            found = ", ".join(str(prior.num_features) for prior in self.priors)
            raise InputError(
                f"the priors of this Mixture have different numbers of features ({found}), so they fill no common "
                "table. Wrap it: PaddedFeatures(Mixture(...), max_features=...)."
            )
        rows = self._rows(batch_size)
        parts = [
            prior.sample(len(chosen), num_points)
            for prior, chosen in zip(self.priors, rows, strict=True)
            if len(chosen) > 0
        ]
        return self._joined(parts, rows)

    def sample_split(self, batch_size: int, num_context: int, num_queries: int) -> Batch:
        """See `Prior.sample_split`; each component splits its own datasets, unless a loss needs their conditionals."""
        if self.offers_expected or self._differ_in_features:
            return super().sample_split(batch_size, num_context, num_queries)
        rows = self._rows(batch_size)
        drawn = zip(self.priors, rows, strict=True)
        parts = [prior.sample_split(len(one), num_context, num_queries) for prior, one in drawn if len(one) > 0]
        order = torch.cat(rows).argsort()
        names = ("context_x", "context_y", "query_x", "query_y")
        context_x, context_y, query_x, query_y = (
            torch.cat([getattr(part, name) for part in parts])[order] for name in names
        )
        return Batch(context_x, context_y, query_x, query_y, latents=self._kinds_of(rows, order))

    def _rows(self, batch_size: int) -> list[Int[Tensor, " _"]]:
        """For each component, the datasets that it draws."""
        choice = choices(self.weights, len(self.priors), batch_size)
        return [(choice == component).nonzero()[:, 0] for component in range(len(self.priors))]

    def _joined(self, parts: list[Datasets], rows: list[Int[Tensor, " _"]]) -> Datasets:
        x, y = torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts])
        order = torch.cat(rows).argsort().to(x.device)  # the position of each dataset in the joined parts
        conditional = JoinedConditional(tuple(parts), order, self.outcome) if self.offers_expected else None
        return Datasets(x[order], y[order], conditional, self._kinds_of(rows, order))

    def _kinds_of(
        self, rows: list[Int[Tensor, " _"]], order: Int[Tensor, " batch"]
    ) -> dict[str, Int[Tensor, "batch 1"]]:
        """The component of each dataset as its latent, where kinds are named."""
        kind = torch.cat([torch.full_like(row, place) for place, row in enumerate(rows)]).to(order.device)[order]
        return {"kind": kind[:, None]} if self.latents else {}


def _kind(kinds: Sequence[str] | None, weights: tuple[float, ...] | None, count: int) -> tuple[Latent, ...]:
    """The component as a latent, where its kinds are named."""
    if kinds is None:
        return ()
    if len(kinds) != count or len(set(kinds)) != count:
        raise InputError(f"kinds must name each of the {count} priors of a Mixture once; got {list(kinds)}.")
    law = Categorical(torch.tensor(weights or [1.0] * count))
    return (Latent("kind", 1, f"one of {', '.join(kinds)}", source=law, is_label=True),)


def _check_components(priors: tuple[Prior, ...], weights: tuple[float, ...] | None) -> None:
    check_weights(weights, len(priors))
    outcomes = [prior.outcome for prior in priors]
    if any(outcome != outcomes[0] for outcome in outcomes):
        raise InputError(
            f"the priors of a Mixture must agree in outcome; got {', '.join(str(outcome) for outcome in outcomes)}."
        )
