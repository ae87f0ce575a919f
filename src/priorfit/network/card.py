"""What a model knows about itself."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from priorfit.errors import InputError
from priorfit.fields import check_fields, fits

COUNTED = ("steps", "datasets", "seconds")
"""What is counted of a training."""


@dataclass(frozen=True)
class ModelCard:
    """Where a model comes from and what it was shown; saved with it as plain data."""

    name: str = "unnamed"
    prior: dict[str, Any] = field(default_factory=dict)
    """The prior's description; a user's own function comes back as its name and text, never as code."""
    trained_context: tuple[int, int] | None = None
    """The smallest and the largest context of training."""
    recipe: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    """Steps, datasets, seconds, seed, targets, machine."""
    measured: dict[str, Any] = field(default_factory=dict)
    """Numbers measured on the saved weights, each with the command that prints it."""

    def __post_init__(self) -> None:
        check_fields(self)
        low, high = self.trained_context or (0, 0)
        if not 0 <= low <= high:
            raise InputError(f"trained_context must be 0 <= smallest <= largest; got {self.trained_context}.")
        for training in self._trainings():
            if not isinstance(training, dict) or not all(fits(training.get(name, 0), float) for name in COUNTED):
                raise InputError(f"training must hold numbers of {', '.join(COUNTED)}; got {training!r}.")

    def _trainings(self) -> Iterator[dict[str, Any]]:
        """The trainings of this model, of the one that it went on from, and so on."""
        training = self.training
        while training:
            yield training
            start = training.get("started_from") or {}
            training = start.get("training", {}) if isinstance(start, dict) else start

    def with_contexts(self, smallest: int, largest: int) -> "ModelCard":
        """The card with more sizes of contexts, such as those that a model was shown before it was fine-tuned.

        >>> ModelCard(trained_context=(2, 40)).with_contexts(5, 100).trained_context
        (2, 100)
        """
        low, high = self.trained_context or (smallest, largest)
        return replace(self, trained_context=(min(low, smallest), max(high, largest)))

    def trained_in_all(self, name: Literal["steps", "datasets", "seconds"]) -> float:
        """The total over its training and those that it went on from.

        >>> first = {"training": {"datasets": 100}}
        >>> ModelCard(training={"datasets": 20, "started_from": first}).trained_in_all("datasets")
        120
        """
        return sum(training.get(name, 0) for training in self._trainings())
