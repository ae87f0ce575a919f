"""What the training loop asks of a network: a loss to descend, an answer to judge, a card and a place to save."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, cast

import torch
from jaxtyping import Float, Num, Shaped
from torch import Tensor, nn

from priorfit.data import Batch
from priorfit.errors import InputError
from priorfit.network.card import ModelCard
from priorfit.network.latents.parts import LatentParts
from priorfit.network.problem import Problem
from priorfit.network.storage import write_model
from priorfit.network.summary import summary
from priorfit.paths import usable_path
from priorfit.predictor import Posterior
from priorfit.priors import Prior
from priorfit.values import Values

Kind = TypeVar("Kind", bound="Model")


class Model(nn.Module, ABC):
    """A network that is trained on datasets of a prior and then answers; a `Predictor`."""

    def __init__(self, settings: object, problem: Problem, card: ModelCard | None) -> None:
        super().__init__()
        self.settings, self.problem, self.card = settings, problem, card or ModelCard()
        self.prior: Prior | None = None
        """The prior that it was trained on, where that is at hand; `fit` and ``load(folder, prior=...)`` bind it."""
        self.latent_parts: LatentParts | None = None
        """Tokens and densities of the latents that the prior names, in networks that have them."""
        self.released: tuple[str, str] | None = None
        """The name that it was released by and its hash at that time; `load` sets it."""
        self.more: Callable[[Model, float | None, int | None], Model] | None = None
        """Goes on with the training for some minutes or steps; `fit` and ``load(folder, prior=...)`` bind it."""

    @abstractmethod
    def loss(self, batch: Batch) -> Float[Tensor, "batch query"]:
        """What training makes small, of each query."""

    @abstractmethod
    def condition(self, context_x: Values, context_y: Values) -> Posterior:
        """See `Predictor.condition`."""

    def matrices(self) -> Iterable[nn.Parameter]:
        """The weights that Muon updates; none unless a network names them."""
        return []

    def weights_from(self, start: "Model") -> Mapping[str, Shaped[Tensor, "..."]] | None:
        """The weights of another model that this network can begin with; None where shapes or problems differ."""
        is_same = start.settings == self.settings and start.problem.shape == self.problem.shape
        return start.state_dict() if is_same else None

    def calibrate(self, prior: Prior) -> None:
        """Take from the prior's code what is not learned, before training; most networks learn all of it."""
        return

    def in_model_units(self: Kind) -> Kind:
        """The same network for data that are in its own units already, as draws of its prior are."""
        if self.problem.units == "fixed":
            return self
        view = copy(self)
        view.problem = replace(self.problem, units="fixed")
        return view

    def fit_more(self: Kind, *, minutes: float | None = None, steps: int | None = None) -> Kind:
        """A new model that was trained on from these weights, for some minutes or steps, on new data of the prior."""
        if self.more is None or self.prior is None:
            raise InputError(
                "fit_more needs the code of the prior, and a file holds none. Bind the prior again: pf.load(folder, "
                "prior=...)."
            )
        return cast(Kind, self.more(self, minutes, steps))

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
