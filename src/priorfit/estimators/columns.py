"""From the columns of a user's table to the inputs of a network."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Num
from torch import Tensor
from torch.nn.functional import pad

from priorfit.errors import InputError
from priorfit.estimators.units import ColumnUnits
from priorfit.network import PFN


@dataclass(frozen=True)
class ColumnMap:
    """Takes the features in use, changes their units where the model's are free, and pads them as the prior does."""

    features: Int[np.ndarray, " used"]
    units: ColumnUnits | None
    num_features: int
    """How many the network takes."""

    def __call__(self, x: Float[np.ndarray, "rows all_features"], model: PFN) -> Float[Tensor, "rows features"]:
        """The inputs that the network sees for rows of the user's table."""
        used = x[:, self.features]
        inputs = as_numbers(used if self.units is None else self.units.inward(used.astype(np.float64)), model, "X")
        return padded(inputs, self.num_features)


def padded(x: Float[Tensor, "rows used"], num_features: int) -> Float[Tensor, "rows features"]:
    """A table as `PaddedFeatures` shows it: multiplied by features / used, and zeros in the columns that are left."""
    used = x.shape[-1]
    return pad(x * (num_features / used), (0, num_features - used))


def as_numbers(values: Num[np.ndarray, "*shape"], model: PFN, name: str) -> Float[Tensor, "*shape"]:
    """Values in the dtype and on the device of a network."""
    numbers = torch.tensor(values).to(model.dtype)
    if not numbers.isfinite().all():
        raise InputError(
            f"{name} holds values beyond {torch.finfo(model.dtype).max:.2g}, the largest that this model can read. "
            "Rescale them."
        )
    return numbers.to(model.decoder.weight.device)
