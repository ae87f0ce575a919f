"""A prior written as a function: ``@prior(num_features=1)``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import signature

import torch
from jaxtyping import Float
from torch import Tensor

from priorfit.data import Classes, Datasets, Outcome, Real
from priorfit.errors import InputError, PriorError
from priorfit.priors.inputs import Inputs, UniformInputs
from priorfit.priors.prior import Prior


@dataclass(frozen=True)
class FunctionPrior(Prior):
    """A user's function that draws a batch of targets for a batch of inputs; made by `prior`.

    Every draw is checked: shape, dtype, finite values, labels in range. The checks cost some microseconds.
    """

    function: Callable[[Tensor], Tensor] = field(metadata={"described": False})
    num_features: int
    inputs: Inputs = UniformInputs()
    outcome: Outcome = Real()
    name: str = "prior"
    doc: str = ""

    def __post_init__(self) -> None:
        """Check the fields, and take over the name and docstring of the function."""
        _check_function(self.function)
        _check_fields(self)
        object.__setattr__(self, "__name__", self.name)
        object.__setattr__(self, "__doc__", self.doc)

    def __str__(self) -> str:
        """The name of the prior."""
        return self.name

    def __call__(self, x: Float[Tensor, "batch points features"]) -> Tensor:
        """What the function returns, unchecked."""
        return self.function(x)

    def draw(self, x: Float[Tensor, "batch points features"]) -> Datasets:
        """See `Prior.draw`."""
        with torch.no_grad():
            y = self.function(x)
        self._check_form(x, y)
        y = y.to(x.dtype)
        self._check_values(y)
        return Datasets(x, y)

    def _check_form(self, x: Tensor, y: object) -> None:
        expected = tuple(x.shape[:-1])
        if not isinstance(y, Tensor):
            raise PriorError(
                f"prior {self} must return a torch tensor of shape (batch, points) = {expected}; got "
                f"{type(y).__name__}. Convert it, for instance with torch.as_tensor(...)."
            )
        if tuple(y.shape) != expected:
            raise PriorError(
                f"prior {self} must return targets of shape (batch, points) = {expected} for x of shape "
                f"{tuple(x.shape)}; got {tuple(y.shape)}. {_shape_advice(x, y)}"
            )
        if not y.is_floating_point() and (isinstance(self.outcome, Real) or y.is_complex()):
            raise PriorError(
                f"prior {self} must return floating-point targets; got {y.dtype}. Return real numbers, or say "
                "outcome=Classes(count) if they are labels."
            )

    def _check_values(self, y: Float[Tensor, "batch points"]) -> None:
        if not bool(y.isfinite().all()):
            share = 1 - float(y.isfinite().float().mean())
            raise PriorError(
                f"prior {self} must return finite targets; got NaN or infinity in {share:.1%} of them. Look for "
                "a division by 0, an overflow, or the logarithm or root of a negative number."
            )
        if isinstance(self.outcome, Classes):
            check_labels(str(self), y, self.outcome)


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


def prior(
    *misplaced: object,
    num_features: int | None = None,
    inputs: Inputs | None = None,
    outcome: Outcome | None = None,
    name: str | None = None,
) -> Callable[[Callable[[Tensor], Tensor]], FunctionPrior]:
    """Make a prior of a function that draws targets ``(batch, points)`` for inputs ``(batch, points, features)``.

    The function gets the whole batch: each latent is drawn once for each dataset, with shape ``(len(x), 1)``.
    Inputs are uniform on [0, 1] and targets real unless said otherwise. ``num_features`` must be given.

    >>> @prior(num_features=1)
    ... def lines(x):
    ...     slope = torch.randn(len(x), 1)
    ...     return slope * x[..., 0] + 0.1 * torch.randn(x.shape[:2])
    >>> lines.sample(batch_size=4, num_points=10).y.shape
    torch.Size([4, 10])
    """
    if misplaced or num_features is None:
        got = f"got {_named(misplaced[0])} in its place" if misplaced else "got none"
        raise InputError(
            f"@prior needs the number of columns of x, by name; {got}. Write @pf.prior(num_features=1) above the "
            "function."
        )

    def decorate(function: Callable[[Tensor], Tensor]) -> FunctionPrior:
        return FunctionPrior(
            function,
            num_features=num_features,
            inputs=UniformInputs() if inputs is None else inputs,
            outcome=Real() if outcome is None else outcome,
            name=getattr(function, "__name__", "prior") if name is None else name,
            doc=function.__doc__ or "",
        )

    return decorate


def _check_function(function: object) -> None:
    """Refuse what cannot be called with a batch of inputs alone."""
    if isinstance(function, Prior):
        raise InputError(f"@prior decorates a function; {function} is a prior already. Decorate once.")
    if isinstance(function, type) or not callable(function):
        raise InputError(
            f"@prior decorates a function of x; got {_named(function)}. Decorate a function, or derive the class from "
            "priorfit.priors.Prior and write its `draw`."
        )
    try:
        found = signature(function)
    except ValueError:  # some functions that are written in C do not tell
        return
    try:
        found.bind(torch.empty(0))
    except TypeError:
        raise InputError(
            f"a prior's function takes one argument, x of shape (batch, points, features); got {_named(function)} with "
            f"{found}. Draw latents inside of it, and give fixed settings default values."
        ) from None


def _check_fields(made: FunctionPrior) -> None:
    num_features = made.num_features
    if isinstance(num_features, bool) or not isinstance(num_features, int):
        raise InputError(f"num_features must be a whole number; got {num_features!r}.")
    if num_features < 1:
        raise InputError(f"num_features must be at least 1; got {num_features}.")
    if not isinstance(made.inputs, Inputs):
        raise InputError(
            "inputs must be a distribution such as UniformInputs(0.0, 1.0) or NormalInputs(); got "
            f"{_named(made.inputs)}."
        )
    if not isinstance(made.outcome, Real | Classes):
        raise InputError(
            "outcome must be Real() for real numbers or Classes(count) for labels 0 ... count - 1; got "
            f"{_named(made.outcome)}."
        )
    if not isinstance(made.name, str) or not made.name.strip():
        raise InputError(f"name must be a text that is not empty; got {made.name!r}.")


def _named(value: object) -> str:
    """A value as messages show it; classes and functions are shown by name."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"the function {getattr(value, '__name__', value)}" if callable(value) else repr(value)
