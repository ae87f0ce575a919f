"""What the training loop asks of a network: a loss to descend, an answer to judge, a card and a place to save."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from priorfit.data import Batch
from priorfit.network.card import ModelCard
from priorfit.network.problem import Problem
from priorfit.network.storage import write_model
from priorfit.network.summary import summary
from priorfit.paths import usable_path
from priorfit.predictor import Posterior
from priorfit.values import Values

Kind = TypeVar("Kind", bound="Model")


class Model(nn.Module, ABC):
    """A network that is trained on datasets of a prior and then answers; a `Predictor`."""

    def __init__(self, settings: object, problem: Problem, card: ModelCard | None) -> None:
        super().__init__()
        self.settings, self.problem, self.card = settings, problem, card or ModelCard()

    @abstractmethod
    def loss(self, batch: Batch) -> Float[Tensor, "batch query"]:
        """What training makes small, of each query."""

    @abstractmethod
    def condition(self, context_x: Values, context_y: Values) -> Posterior:
        """See `Predictor.condition`."""

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates; none unless a network names them."""
        return []

    def in_model_units(self: Kind) -> Kind:
        """The same network for data that are in its own units already, as draws of its prior are."""
        if self.problem.units == "fixed":
            return self
        view = copy(self)
        view.problem = replace(self.problem, units="fixed")
        return view

    def summary(self) -> str:
        """What the model is, in a few readable lines."""
        return summary(self)

    def __repr__(self) -> str:
        """See `summary`; the modules are in ``model.children()``."""
        return self.summary()

    def save(self, path: str | Path, dtype: torch.dtype | None = None) -> None:
        """Write a folder ``model.safetensors`` + ``config.json``; ``dtype`` is that of the weights in the file."""
        write_model(self, self.settings, self.problem, self.card, usable_path(path), dtype)

    def frozen(self: Kind) -> Kind:
        """The model for use: its weights ask for no gradient, so predictions keep no graph unless their inputs do."""
        return self.eval().requires_grad_(False)


class ModelSettings(ABC):
    """The settings of a network: a frozen dataclass and the schema of a recipe's ``[network]``; ``build`` makes it."""

    @abstractmethod
    def build(
        self,
        problem: Problem,
        card: ModelCard | None = None,
        target_sample: Num[Tensor, "batch points"] | None = None,
    ) -> Model:
        """An untrained model; ``target_sample`` holds targets of the prior (None: weights will be loaded)."""
