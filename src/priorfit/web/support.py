"""Which models the page can run and show, and why not the others."""

from priorfit.data import Classes
from priorfit.errors import InputError
from priorfit.network import PFN, Model, TableNetwork

RUN = frozenset(
    {"LinearEncoder", "NoEncoder", "FourierEncoder", "PolynomialEncoder"}
    | {"NormalHead", "NormalMixtureHead", "CorrectedMixtureHead", "AdjustedGuessHead", "RiemannHead"}
    | {"SoftmaxHead", "TemperedHead", "SigmoidHead"}
    | {"LinearSolver", "ClassSolver", "LatentSolver", "CellSolver", "StepSolver"}
)
"""The parts of a network that ``js/network/`` has, by the names of their settings."""


def check_shown(name: str, model: Model) -> None:
    """Refuse a model that the page cannot run, or has no picture for; the page says the same of one dropped on it."""
    if not isinstance(model, PFN):
        raise InputError(f"the page cannot run {name}: {why_not(model)}. {INSTEAD}")
    problem, settings = model.problem, model.settings
    for part in (settings.encoder_for(problem), settings.output_for(problem), settings.solver):
        if part is not None and type(part).__name__ not in RUN:
            raise InputError(f"the page cannot run {name}: it has no {type(part).__name__} in JavaScript. {INSTEAD}")
    if problem.answers == "function" or problem.padding == "plain":
        raise InputError(
            f"the page cannot run {name}: it answers for functions without noise, or pads its columns plainly, which "
            f"the page does not know. {INSTEAD}"
        )
    is_map = isinstance(problem.outcome, Classes)
    columns = 2 if is_map else 1
    if not problem.fewest_features <= columns <= problem.num_features:
        targets = f"{problem.outcome.count} classes" if isinstance(problem.outcome, Classes) else "real"
        raise InputError(
            f"the page cannot show {name}: it shows real targets over one feature and classes over two; this model "
            f"takes {problem.takes} and its targets are {targets}. {INSTEAD}"
        )


INSTEAD = "Leave it out; its answers are there in Python (priorfit.load) and by priorfit predict."


def why_not(model: Model) -> str:
    """Why a network that is no PFN does not run in the page."""
    if isinstance(model, TableNetwork):
        return "it is a network for tables, whose columns attend to each other: the page has no table to fill in"
    return f"it is a {type(model).__name__}, a baseline whose layers the page does not have"
