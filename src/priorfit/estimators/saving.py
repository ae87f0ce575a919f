"""Fitted estimators as files: what a folder keeps of the training rows, and how it is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, Shaped

from priorfit.errors import InputError
from priorfit.estimators.encoding import TableEncoder
from priorfit.estimators.showing import Showing
from priorfit.extras import needs_extra
from priorfit.network.kept import write_kept

with needs_extra("sklearn"):
    from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from priorfit.estimators.estimator import PFNEstimator


@runtime_checkable
class Keeping(Protocol):
    """A posterior that can be saved: ``kept`` gives dataclasses of tensors, which `load_estimator` reads."""

    def kept(self) -> Any:
        """What a file holds of it."""
        ...


@dataclass(frozen=True)
class KeptEstimator:
    """A fitted estimator without its model.

    ``labels`` are the attributes that only a classifier has, and ``target`` is the name of the column that the targets
    came from, where a file had one.
    """

    kind: str
    parameters: dict[str, Any]
    encoder: TableEncoder
    showing: Showing
    columns: Int[np.ndarray, " used"]
    num_features: int
    names: Shaped[np.ndarray, " features"] | None
    labels: dict[str, Shaped[np.ndarray, " classes"]]
    posterior: Any
    target: str | None


def save_estimator(estimator: "PFNEstimator", path: str | Path, target: str | None = None) -> None:
    """Write a fitted estimator to a folder of safetensors and JSON."""
    check_is_fitted(estimator, "posterior_")
    posterior, fitted = estimator.posterior_, vars(estimator)
    if not isinstance(posterior, Keeping):
        raise InputError(
            f"a {type(posterior).__name__} of a {type(estimator.model_).__name__} cannot be saved; expected one of a "
            "PFN. Save the training rows, and fit again."
        )
    kept = KeptEstimator(
        type(estimator).__name__,
        plain_parameters(estimator.get_params(deep=False)),
        estimator.encoder_,
        estimator.showing_,
        estimator.columns_,
        int(fitted["n_features_in_"]),
        fitted.get("feature_names_in_"),
        {name: fitted[name] for name in ("classes_", "codes_") if name in fitted},
        posterior.kept(),
        target,
    )
    write_kept(path, "estimator", kept, estimator.model_)


def plain_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of the constructor but for the model; a generator of random numbers is not kept."""
    is_plain = {
        name: value is None or isinstance(value, bool | int | float | str) for name, value in parameters.items()
    }
    return {name: value if is_plain[name] else None for name, value in parameters.items() if name != "model"}
