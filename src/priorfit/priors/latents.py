"""The latents that a prior names: a distribution each, or a function of those before it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import cast

import torch
from jaxtyping import Num
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution, Independent, MixtureSameFamily
from torch.distributions.constraints import Constraint

from priorfit.distributions.shapes import broadcast_shapes
from priorfit.errors import InputError, PriorError, ShapeError
from priorfit.priors.declaration import ARGUMENTS, shown
from priorfit.seeding import seeded

LatentSource = Distribution | Callable[..., Distribution]
Latents = dict[str, Num[Tensor, "batch size"]]
"""The value of each latent for each dataset; a latent that is a single number has size 1."""

RESERVED = ("x", "y", "context_x", "context_y", "query_x", "self", *ARGUMENTS)
"""Names that arguments of `prior`, of its function or of `condition` have."""

PROBED = (3, 5)
"""Numbers of datasets with which a function of earlier latents is tried, to see how many numbers its latent has."""


@dataclass(frozen=True)
class Latent:
    """A named latent: ``size`` numbers for each dataset, drawn from a distribution or given some earlier latents."""

    name: str
    size: int
    text: str
    """The distribution in words, for cards."""
    parents: tuple[str, ...] = ()
    """The earlier latents that its distribution depends on."""
    source: LatentSource = field(kw_only=True, repr=False, metadata={"described": False})
    is_label: bool = field(default=False, kw_only=True, repr=False, metadata={"described": False})
    """Whether its draws are whole numbers, as those of a Categorical; all other draws are real, 0.0 and 1.0 too."""

    def law(self, earlier: Mapping[str, Num[Tensor, "batch size"]], batch_size: int) -> Distribution:
        """Its distribution given the earlier latents, of batch shape ``(batch, size)``."""
        if isinstance(self.source, Distribution):
            return self.source.expand(torch.Size((batch_size, self.size)))
        found = self.source(**{name: earlier[name] for name in self.parents})
        try:
            return found.expand(torch.Size((batch_size, self.size)))
        except RuntimeError as error:
            raise PriorError(_wrong_shape(self.name, found)) from error

    def as_drawn(self, value: Num[Tensor, "..."]) -> Num[Tensor, "..."]:
        """A value in the type that draws have, whatever type a caller or a network gave it."""
        if self.is_label:
            return value.long()
        return value if value.is_floating_point() else value.to(torch.get_default_dtype())


def is_discrete(law: Distribution) -> bool:
    """Whether a distribution has probabilities in place of a density; a mixture has what its components have."""
    return bool(support_of(law).is_discrete)


def support_of(law: Distribution) -> Constraint:
    """The support of a distribution; of a mixture that of its components, whose last axis they are."""
    inner = law.component_distribution if isinstance(law, MixtureSameFamily) else law
    return cast(Constraint, inner.support)


def named_latents(sources: Mapping[str, LatentSource]) -> tuple[Latent, ...]:
    """The latents of a prior in the order in which they were named; each is checked, and tried on a few datasets."""
    found: list[Latent] = []
    for name, source in sources.items():
        check_name(name)
        parents = () if isinstance(source, Distribution) else _parents(name, source, [latent.name for latent in found])
        law, size = _tried(name, source, parents, found)
        text = _text(law) if isinstance(source, Distribution) else _kind_text(law, parents)
        found.append(Latent(name, size, text, parents, source=source, is_label=isinstance(law, Categorical)))
    return tuple(found)


def check_name(name: str) -> None:
    """Refuse a name that means something else already."""
    if name in RESERVED or not name.isidentifier() or name.startswith("_"):
        raise InputError(
            f"no latent can be called {name!r}: the name must be that of a Python argument, without a leading _, and "
            f"none of {', '.join(RESERVED)}. Rename the latent."
        )


def sampled(latents: tuple[Latent, ...], batch_size: int) -> Latents:
    """One draw of all latents for each dataset, in the order in which they were named."""
    values: Latents = {}
    for latent in latents:
        values[latent.name] = latent.law(values, batch_size).sample()
    return values


def _parents(name: str, source: object, earlier: list[str]) -> tuple[str, ...]:
    """The earlier latents that a function takes."""
    if isinstance(source, type) or not callable(source):
        near = get_close_matches(name, ARGUMENTS, n=1)
        hint = f" Did you mean the argument {near[0]!r} of @prior?" if near else ""
        raise InputError(
            f"latent {name!r} must be a distribution, such as Normal(0.0, 1.0), or a function of earlier latents that "
            f"returns one; got {shown(source)}.{hint}"
        )
    taken = signature(source).parameters.values()
    needed = tuple(each.name for each in taken if each.default is Parameter.empty or each.name in earlier)
    unknown = [each for each in needed if each not in earlier]
    if unknown:
        known = ", ".join(earlier) or "none"
        raise InputError(
            f"latent {name!r} is a function of {unknown[0]!r}, which is no latent named before it (those: {known}). "
            "Name a latent's parents before it."
        )
    return needed


def _tried(
    name: str, source: LatentSource, parents: tuple[str, ...], earlier: list[Latent]
) -> tuple[Distribution, int]:
    """The distribution of a latent, given a few draws of its parents, and how many numbers it has."""
    if isinstance(source, Distribution):
        _check_law(name, source)
        if len(source.batch_shape) > 1:
            raise InputError(_wrong_shape(name, source))
        return source, (source.batch_shape or (1,))[0]
    sizes, law = set(), Distribution(validate_args=False)
    for count in PROBED:
        with seeded(0):
            values = sampled(tuple(earlier), count)
            law = source(**{parent: values[parent] for parent in parents})
        _check_law(name, law)
        try:
            sizes.add(broadcast_shapes(law.batch_shape, (count, 1)))
        except ShapeError as error:
            raise InputError(_wrong_shape(name, law)) from error
    lengths = {shape[-1] for shape in sizes}
    if len(lengths) > 1 or any(len(shape) != 2 or shape[0] not in PROBED for shape in sizes):
        raise InputError(_wrong_shape(name, law))
    return law, lengths.pop()


def _kind_text(law: Distribution, parents: tuple[str, ...]) -> str:
    kind = type(law).__name__
    return f"{kind} given {', '.join(parents)}" if parents else kind


def _text(law: Distribution) -> str:
    """A distribution with its parameters, to four digits."""
    named = [name for name in law.arg_constraints if name in vars(law)] or list(law.arg_constraints)
    values = {name: torch.as_tensor(getattr(law, name)).flatten().tolist() for name in named}
    shown = {name: ", ".join(f"{each:.4g}" for each in sorted(set(value))) for name, value in values.items()}
    return f"{type(law).__name__}({'; '.join(f'{name} {text}' for name, text in shown.items())})"


def _check_law(name: str, law: object) -> None:
    """Refuse what is no distribution over single numbers or over a few classes."""
    if not isinstance(law, Distribution):
        raise InputError(f"latent {name!r} must be a distribution of torch.distributions; got {shown(law)}.")
    if law.event_shape or isinstance(law, Independent):
        raise InputError(
            f"latent {name!r} must be a distribution over single numbers; got {law} with events of shape "
            f"{tuple(law.event_shape)}. Independent numbers are a vector, as Normal(0.0, 1.0).expand([10]); dependent "
            "ones are functions of earlier latents."
        )
    if is_discrete(law) and not isinstance(law, Categorical | Bernoulli):
        raise InputError(
            f"latent {name!r} must be real, Categorical or Bernoulli; got {type(law).__name__}, which has no largest "
            "value or too many. Cut it to a Categorical, or use a density."
        )


def _wrong_shape(name: str, law: Distribution) -> str:
    return (
        f"latent {name!r} must be one number for each dataset, batch shape () or (batch, 1) given other latents, or a "
        f"vector of them, (size,) or (batch, size); got {tuple(law.batch_shape)}. A vector is made by .expand([10])."
    )
