"""Whether what a user's function draws can be targets: shape, dtype, finite values, labels in range."""

from jaxtyping import Float
from torch import Tensor
from torch.distributions import Distribution

from priorfit.data import Classes, Real
from priorfit.errors import PriorError
from priorfit.priors.prior import Prior


def check_targets(prior: Prior, x: Float[Tensor, "batch points features"], y: object) -> Float[Tensor, "batch points"]:
    """The targets in the dtype of the inputs; an error where they are none. The checks cost some microseconds."""
    targets = _check_form(prior, x, y).to(x.dtype)
    _check_values(prior, targets)
    return targets


def _check_form(prior: Prior, x: Tensor, y: object) -> Tensor:
    expected = tuple(x.shape[:-1])
    if isinstance(y, Distribution):
        raise PriorError(
            f"prior {prior} must return targets; got {type(y).__name__}, a law. A law needs latents that are named: "
            "@pf.prior(num_features=1, scale=Uniform(0.0, 1.0)) above a function of (x, scale)."
        )
    if not isinstance(y, Tensor):
        raise PriorError(
            f"prior {prior} must return a torch tensor of shape (batch, points) = {expected}; got "
            f"{type(y).__name__}. Convert it, for instance with torch.as_tensor(...)."
        )
    if tuple(y.shape) != expected:
        raise PriorError(
            f"prior {prior} must return targets of shape (batch, points) = {expected} for x of shape "
            f"{tuple(x.shape)}; got {tuple(y.shape)}. {_shape_advice(x, y)}"
        )
    if not y.is_floating_point() and (isinstance(prior.outcome, Real) or y.is_complex()):
        raise PriorError(
            f"prior {prior} must return floating-point targets; got {y.dtype}. Return real numbers, or say "
            "outcome=Classes(count) if they are labels."
        )
    return y


def _check_values(prior: Prior, y: Float[Tensor, "batch points"]) -> None:
    if not bool(y.isfinite().all()):
        share = 1 - float(y.isfinite().float().mean())
        raise PriorError(
            f"prior {prior} must return finite targets; got NaN or infinity in {share:.1%} of them. Look for "
            "a division by 0, an overflow, or the logarithm or root of a negative number."
        )
    if isinstance(prior.outcome, Classes):
        check_labels(str(prior), y, prior.outcome)


def _shape_advice(x: Tensor, y: Tensor) -> str:
    if y.shape == x.shape:
        return "Return one number a point: take a column, x[..., 0], or sum over the features."
    if y.shape == x.shape[1:-1]:
        return "The function gets the whole batch and draws one function for each dataset of it."
    if y.ndim == 2 and y.shape == x.shape[1::-1]:
        return "Put the batch first."
    return "Return one number for each point of each dataset."


def check_labels(name: str, y: Float[Tensor, "batch points"], outcome: Classes) -> None:
    """Refuse labels that are not one of 0 ... count - 1."""
    wrong = (y != y.round()) | (y < 0) | (y >= outcome.count)
    if bool(wrong.any()):
        advice = "Return whole numbers that start at 0, or raise the count."
        if bool((y != y.round()).any()):
            advice = "Return whole numbers that start at 0, or say outcome=Real() if the targets are real numbers."
        found = f"{float(y[wrong][0]):g}"
        raise PriorError(
            f"prior {name} must return labels 0 ... {outcome.count - 1} for {outcome}; got {found}. {advice}"
        )
