"""The law of the targets given the latents: what a prior's function may return, and what follows from it."""

import torch
from jaxtyping import Float, Num
from torch import Tensor
from torch.distributions import Bernoulli, Categorical, Distribution, Normal

from priorfit.data import Classes, Outcome, Real
from priorfit.errors import PriorError
from priorfit.priors.conditionals import FixedConditional
from priorfit.priors.latents import is_discrete


def outcome_of(law: Distribution, name: str) -> Outcome:
    """The outcome that a law implies; laws of counts, and those that join points, are refused with the reason."""
    if law.event_shape:
        raise PriorError(
            f"the law of prior {name} must factorise over points: one number for each, events of shape (); got {law} "
            f"with events of shape {tuple(law.event_shape)}. Leave Independent out, write Categorical in place of "
            "OneHotCategorical, and name what joins the points as a latent."
        )
    if isinstance(law, Categorical):
        return Classes(int(law.logits.shape[-1]))
    if isinstance(law, Bernoulli):
        return Classes(2)
    if is_discrete(law):
        raise PriorError(
            f"prior {name} has the law {type(law).__name__}, a law of counts, and there is no outcome for counts yet: "
            "a density over reals would grow without bound at whole numbers. Return the law of a transformed count "
            "with noise, such as a Normal of its square root, or a Categorical over 0 ... largest count."
        )
    return Real()


def on_all_points(law: Distribution, x: Float[Tensor, "batch points features"], name: str) -> Distribution:
    """The law with batch shape ``(batch, points)``; one that is the same at all points may leave that axis at 1."""
    expected = x.shape[:-1]
    if law.batch_shape == expected:
        return law
    if tuple(law.batch_shape) == (expected[0], 1):
        return law.expand(expected)
    raise PriorError(
        f"the law of prior {name} must have batch shape (batch, points) = {tuple(expected)} for x of shape "
        f"{tuple(x.shape)}; got {tuple(law.batch_shape)}. Latents have shape (batch, 1); a column of x is x[..., 0]."
    )


def conditional_of(law: Distribution) -> FixedConditional | None:
    """What `Datasets.conditional` holds of a law: Normals and classes; other laws have no closed form there."""
    if isinstance(law, Bernoulli):
        return FixedConditional(Categorical(class_probs(law), validate_args=False))
    return FixedConditional(law) if isinstance(law, Normal | Categorical) else None


def class_probs(law: Bernoulli | Categorical) -> Float[Tensor, "*batch classes"]:
    """The probabilities of all classes."""
    return torch.stack([1 - law.probs, law.probs], dim=-1) if isinstance(law, Bernoulli) else law.probs


def log_likelihood(law: Distribution, y: Num[Tensor, "batch points"]) -> Float[Tensor, " batch"]:
    """log p(y | latents) of each dataset, in float64; -inf where y lies outside of the law's support."""
    law._validate_args = False  # the support is checked here, since some laws give NaN in place of -inf
    inside = law.support.check(y)  # pyright: ignore[reportOptionalMemberAccess]
    safe = torch.where(inside, y, law.sample()) if not bool(inside.all()) else y
    each = torch.where(inside, law.log_prob(safe), -torch.inf)
    return each.double().nan_to_num(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf).sum(-1)
