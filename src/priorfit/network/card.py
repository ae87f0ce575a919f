"""What a model knows about itself."""

from dataclasses import dataclass, field
from typing import Any, Literal


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

    def trained_in_all(self, name: Literal["steps", "datasets", "seconds"]) -> float:
        """Of its training and of those that it went on from.

        >>> first = {"training": {"datasets": 100}}
        >>> ModelCard(training={"datasets": 20, "started_from": first}).trained_in_all("datasets")
        120
        """
        total, training = 0, self.training
        while training:
            total += training.get(name, 0)
            training = training.get("started_from", {}).get("training", {})
        return total
