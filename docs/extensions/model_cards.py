"""The directive ``model-cards``: every released model as its card tells it, so that a new one appears by itself."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from priorfit.metrics import Estimate
from priorfit.network import Model
from priorfit.network.older_files import recipe_in
from priorfit.training.finetuning import Shown
from priorfit.zoo import load, names

Plain = dict[str, Any]


class ModelCards(SphinxDirective):
    """A section for each model of the zoo."""

    def run(self) -> list[nodes.Node]:
        """Write the sections as MyST and let the page's own parser read them."""
        text = "\n".join(line for name in names() for line in card_lines(name, load(name)))
        place = nodes.Element()
        place.document = self.state.document
        self.state.nested_parse(StringList(text.splitlines(), source="the cards of the zoo"), 0, place)
        return place.children


def card_lines(name: str, model: Model) -> Iterator[str]:
    """One model in MyST: facts as a list, measured numbers as a table."""
    card = model.card
    trained = "unknown" if card.trained_context is None else "{} to {}".format(*card.trained_context)
    weights = sum(weight.numel() for weight in model.parameters())
    yield from (f"### {name}", "")
    yield f"- prior: `{in_words(card.prior)}`"
    yield f"- takes: {model.problem.takes}, contexts of {trained} points; units are {model.problem.units}"
    yield f"- network: {weights:,} weights; `{in_words(recipe_in(card.recipe).get('network', {}))}`"
    yield f"- training: {training_in_words(card.training)}; targets: {card.recipe.get('data', {}).get('targets', '?')}"
    yield f"- {origin_in_words(name, card.recipe, card.training)}"
    yield ""
    yield from measured_lines(card.measured)


def origin_in_words(name: str, recipe: Plain, training: Plain) -> str:
    """The recipe of a model, or what it was fine-tuned from."""
    if recipe["prior"]["type"] != Shown.__name__:
        return f"recipe: `recipes/{name}.toml`"
    return f"fine-tuned from `{training['started_from']['name']}` by `studies/omniglot_finetune.py`"


def in_words(description: Plain) -> str:
    """A description as the call that would make it: ``GaussianProcess(kernel='rbf', noise=0.0001)``."""
    fields = ", ".join(f"{name}={value_in_words(value)}" for name, value in description.items() if name != "type")
    return f"{description.get('type', '?')}({fields})"


def value_in_words(value: object) -> str:
    """A value inside a description."""
    if isinstance(value, dict):
        return in_words(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(value_in_words, value)) + "]"
    return repr(value)


def training_in_words(training: Plain) -> str:
    """Datasets, steps and time, with those of the model that it went on from."""
    parts = [training]
    while "started_from" in parts[-1]:
        parts.append(parts[-1]["started_from"]["training"])
    return ", after ".join(
        f"{part.get('datasets', 0):,} datasets in {part.get('steps', 0):,} steps and {part.get('seconds', 0) / 60:.0f} "
        f"minutes ({part.get('threads', '?')} thread(s))"
        for part in parts
    )


def measured_lines(measured: Plain) -> Iterator[str]:
    """The table of a card's rows, whatever columns they have; a pair is a mean and the half-width of its interval."""
    rows = measured.get("rows", [])
    if not rows:
        yield "Nothing was measured on these weights."
        return
    columns = [name for name in rows[0] if all(name in row for row in rows)]
    yield "| " + " | ".join(column.replace("_", " ") for column in columns) + " |"
    yield "|" + " ---: |" * len(columns)
    for row in rows:
        yield "| " + " | ".join(cell(row[column]) for column in columns) + " |"
    where = measured.get("circumstances", {})
    yield ""
    yield (
        f"Printed by `{measured.get('command', '?')}` over {measured.get('num_datasets', '?')} datasets, "
        f"seed {where.get('seed', '?')}, on {where.get('cpu', 'an unknown machine')}; mean ± half of the 95 % interval."
    )
    yield ""


def cell(value: object) -> str:
    """A number, or a mean with its half-width."""
    if isinstance(value, list) and len(value) == 2:
        return str(Estimate(*value, count=0))
    return f"{value:z.4f}" if isinstance(value, float) else str(value)


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx of the directive."""
    app.add_directive("model-cards", ModelCards)
    return {"parallel_read_safe": True}
