"""One call, one report: is this posterior right?"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from priorfit.checkpoint import write_atomically
from priorfit.description import describe
from priorfit.errors import InputError, RecipeError
from priorfit.network import PFN, Model
from priorfit.predictor import Predictor
from priorfit.priors import Prior
from priorfit.training import recipe_from
from priorfit.verify.accuracy import gap_checks, learning_check
from priorfit.verify.calibration import calibration_check, pit_check
from priorfit.verify.check import NOTHING, Check, Verdict, worst
from priorfit.verify.invariance import batch_check, order_check, queries_check
from priorfit.verify.joint import joint_check
from priorfit.verify.latents import latent_checks
from priorfit.verify.surprises import surprise_check
from priorfit.verify.tasks import Examined, examined, spread_sizes
from priorfit.zoo import load

OWN_RANGE = "Make sure yourself that your data lie within what it was made for."

DEFAULT_RANGE = (0, 50)
"""Context sizes for a predictor that does not say what it was trained for."""


@dataclass(frozen=True)
class Report:
    """The checks of a model, line by line."""

    name: str
    prior: str
    context_sizes: tuple[int, ...]
    num_datasets: int
    seed: int
    checks: tuple[Check, ...]
    examined: Mapping[int, Examined]
    """The datasets and predictions of each context size, for pictures."""

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all lines."""
        return worst([check.verdict for check in self.checks])

    def rows(self) -> list[dict[str, object]]:
        """The lines as plain data."""
        return [asdict(check) for check in self.checks]

    def json(self) -> str:
        """Everything but the datasets, as JSON."""
        about = {"model": self.name, "prior": self.prior, "verdict": self.verdict, "seed": self.seed}
        sizes = {"context_sizes": self.context_sizes, "num_datasets": self.num_datasets}
        return json.dumps({**about, **sizes, "checks": self.rows()}, indent=1) + "\n"

    def save_json(self, path: str | Path) -> None:
        """Write `json` to a file."""
        write_atomically(Path(path), self.json())

    def __str__(self) -> str:
        width = max(len(check.question) for check in self.checks)
        lines = [f"{check.verdict:<11}  {check.question:<{width}}  {check.words}" for check in self.checks]
        return "\n".join([f"{self.name} on {self.prior}: {self.verdict}", *lines])


def verify(
    model: Predictor | str | Path,
    prior: Prior | None = None,
    *,
    context_sizes: Sequence[int] | None = None,
    num_datasets: int = 2000,
    seed: int = 0,
) -> Report:
    """Examine a model on datasets of its prior: calibration, gap to the exact posterior, invariance.

    Args:
        model: A `PFN` or any other predictor, the name of a released model, or the folder of a saved one.
        prior: The prior of the model; by default the one on its card.
        context_sizes: The context sizes n; by default five over the range that the model was trained for.
        num_datasets: Datasets of each n, with one query each.
        seed: The seed of the datasets.

    >>> import priorfit as pf
    >>> gp = pf.GaussianProcess(lengthscale=0.6)
    >>> print(pf.verify(pf.baselines.ExactGP(gp), gp, context_sizes=[5], num_datasets=200).verdict)
    good
    """
    model = predictor(model)
    prior = prior_of(model) if prior is None else checked_prior(prior)
    sizes = spread_sizes(*trained_range(model)) if context_sizes is None else checked_sizes(context_sizes)
    if not isinstance(num_datasets, int) or num_datasets < 2:
        raise InputError(f"verify needs 2 datasets or more for each context size; got {num_datasets!r}.")
    model = model.in_model_units() if isinstance(model, Model) else model  # draws of the prior are in these units
    asked = {size: examined(model, prior, size, num_datasets, seed) for size in sizes}
    checks = [range_check(model, sizes), inputs_check(model, prior)]
    for some in asked.values():
        checks += [pit_check(some, seed), calibration_check(some, prior.outcome, seed)]
    name = describe(prior).get("name", type(prior).__name__)
    checks += gap_checks(asked.values(), model, prior, name)
    first, last = asked[sizes[0]], asked[sizes[-1]]
    if first is not last:
        checks.append(learning_check(first, last))
    checks += [order_check(model, last, seed), batch_check(model, last), queries_check(model, last)]
    if isinstance(model, PFN):
        checks += latent_checks(model, prior, sizes[-1], seed)
        checks.append(joint_check(model, prior, sizes[-1], seed))
        checks.append(surprise_check(model, prior, sizes[-1], seed))
    model_name = model.card.name if isinstance(model, Model) else type(model).__name__
    return Report(model_name, name, sizes, num_datasets, seed, tuple(checks), asked)


def predictor(model: Predictor | str | Path) -> Predictor:
    """The predictor to examine; a name or a folder is loaded."""
    if isinstance(model, str | Path):
        return load(model)
    if not isinstance(model, Predictor):
        raise InputError(
            "verify takes a model, the name of a released one, or the folder of a saved one; "
            f"got {type(model).__name__}."
        )
    return model


def checked_prior(prior: object) -> Prior:
    """Refuse what is no prior."""
    if not isinstance(prior, Prior):
        raise InputError(
            "verify takes a prior, such as GaussianProcess() or a function decorated with @pf.prior(num_features=1); "
            f"got {prior!r}."
        )
    return prior


def checked_sizes(sizes: object) -> tuple[int, ...]:
    """Context sizes, each once and in order.

    >>> checked_sizes([5, 0, 5])
    (0, 5)
    """
    listed = list(sizes) if isinstance(sizes, Iterable) and not isinstance(sizes, str) else []
    if not listed or not all(isinstance(size, int | np.integer) and size >= 0 for size in listed):
        raise InputError(f"verify needs a list of context sizes, whole numbers of at least 0; got {sizes!r}.")
    return tuple(sorted({int(size) for size in listed}))


def prior_of(model: Predictor) -> Prior:
    """The prior that a model was trained on: the one that is bound to it, or built from its card."""
    if isinstance(model, Model) and model.prior is not None:
        return model.prior
    if not isinstance(model, Model) or not model.card.recipe:
        raise InputError(f"{type(model).__name__} does not say which prior it is for; pass it: verify(model, prior).")
    try:
        return recipe_from(model.card.recipe).prior
    except RecipeError as error:
        raise InputError(
            f"the prior of {model.card.name!r} cannot be built from its card ({error}) Pass it: verify(model, prior)."
        ) from error


def trained_range(model: Predictor) -> tuple[int, int]:
    """The context sizes that a model was trained for."""
    trained = model.card.trained_context if isinstance(model, PFN) else None
    return DEFAULT_RANGE if trained is None else trained


def range_check(model: Predictor, sizes: Sequence[int]) -> Check:
    """Check that the model was trained for these context sizes."""
    question = "trained range"
    trained = model.card.trained_context if isinstance(model, Model) else None
    if trained is None:
        return Check(question, "not checked", f"The model does not say it. {OWN_RANGE}")
    outside = [size for size in sizes if not trained[0] <= size <= trained[1]]
    words = f"Trained for contexts of {trained[0]} to {trained[1]} points"
    if outside:
        words = (
            f"{words}; asked about {', '.join(map(str, outside))}. Ask within the range, or train with more num_points."
        )
        return Check(question, "bad", words, {"outside": outside})
    return Check(question, "good", f"{words}, which holds all that were asked about. {NOTHING}")


def inputs_check(model: Predictor, prior: Prior) -> Check:
    """Check that the model was trained for inputs of this range."""
    question = "range of the inputs"
    trained = model.problem.input_range if isinstance(model, Model) else None
    asked = prior.inputs.range
    if trained is None or asked is None:
        return Check(question, "not checked", f"The inputs have no range, or the model does not know it. {OWN_RANGE}")
    words = f"Trained for inputs in [{trained[0]:g}, {trained[1]:g}]"
    if asked[0] < trained[0] or asked[1] > trained[1]:
        words = (
            f"{words}; those of the prior lie in [{asked[0]:g}, {asked[1]:g}]. Rescale them, or train on that range."
        )
        return Check(question, "bad", words)
    return Check(question, "good", f"{words}, which holds those of the prior. {NOTHING}")
