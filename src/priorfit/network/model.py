"""What the training loop asks of a network: a loss to descend, an answer to judge, a card and a place to save."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TypeVar

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from priorfit.data import Batch
from priorfit.network.card import ModelCard
from priorfit.network.settings import Task
from priorfit.network.storage import write_model
from priorfit.predictor import Posterior

Finished = TypeVar("Finished", bound="Model")


class Model(nn.Module, ABC):
    """A network that is trained on datasets of a prior and then answers; a `Predictor`."""

    def __init__(self, settings: object, task: Task, card: ModelCard | None) -> None:
        super().__init__()
        self.settings, self.task, self.card = settings, task, card or ModelCard()

    @abstractmethod
    def loss(self, batch: Batch) -> Float[Tensor, "batch query"]:
        """What training makes small, of each query."""

    @abstractmethod
    def condition(
        self, context_x: Num[Tensor, "*batch context features"], context_y: Num[Tensor, "*batch context"]
    ) -> Posterior:
        """See `Predictor.condition`."""

    def save(self, path: str | Path, dtype: torch.dtype | None = None) -> None:
        """Write a folder ``model.safetensors`` + ``config.json``; ``dtype`` is that of the weights in the file."""
        write_model(self, self.settings, self.task, self.card, Path(path), dtype)

    def finished(self: Finished) -> Finished:
        """The model for use: its weights ask for no gradient, so predictions keep no graph unless their inputs do."""
        return self.eval().requires_grad_(False)
