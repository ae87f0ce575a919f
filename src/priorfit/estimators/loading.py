"""Fitted estimators from the folders that `PFNEstimator.save` wrote."""

from functools import singledispatch
from pathlib import Path

from priorfit.errors import CheckpointError
from priorfit.estimators.classifier import PFNClassifier
from priorfit.estimators.columns import EmptyColumn, NominalColumn, NumberColumn
from priorfit.estimators.encoding import TableEncoder
from priorfit.estimators.local import Coordinates, KeptLocal, LocalPosterior
from priorfit.estimators.permutations import KeptPermuted, Permuted, PermutedPosterior, View
from priorfit.estimators.regressor import PFNRegressor
from priorfit.estimators.saving import KeptEstimator
from priorfit.estimators.showing import Showing
from priorfit.network import Model, PFNPosterior
from priorfit.network.kept import KeptPosterior
from priorfit.network.kept_loading import read_kept
from priorfit.predictor import Posterior
from priorfit.zoo.posteriors import model_of

TYPES = (
    KeptEstimator,
    KeptPermuted,
    KeptLocal,
    View,
    Coordinates,
    TableEncoder,
    Showing,
    NumberColumn,
    NominalColumn,
    EmptyColumn,
)
"""What the file of an estimator is built from, beside the parts of posteriors."""

Estimator = PFNClassifier | PFNRegressor
ESTIMATORS: dict[str, type[PFNClassifier] | type[PFNRegressor]] = {
    "PFNClassifier": PFNClassifier,
    "PFNRegressor": PFNRegressor,
}


def load_estimator(path: str | Path, model: Model | str | Path | None = None) -> Estimator:
    """A fitted estimator from the folder that its ``save`` wrote: it predicts at once, with the same answers.

    ``model`` is as in `priorfit.load_posterior`: the same model from elsewhere.

    >>> import tempfile
    >>> import numpy as np
    >>> rows = np.random.RandomState(0).rand(20, 2)
    >>> fitted = PFNRegressor("tabular-regression-small").fit(rows, rows.sum(1))
    >>> folder = Path(tempfile.mkdtemp()) / "fit"
    >>> fitted.save(folder)
    >>> bool((load_estimator(folder).predict(rows) == fitted.predict(rows)).all())
    True
    """
    return read_fit(path, model)[0]


def read_fit(path: str | Path, model: Model | str | Path | None = None) -> tuple[Estimator, str | None]:
    """A fitted estimator, and the name of its target column where a file had one."""
    file = read_kept(path, "estimator", TYPES)
    network, kept = model_of(file, path, model), file.kept
    try:
        estimator = ESTIMATORS[kept.kind](
            model=file.record.name if file.record.released else network, **kept.parameters
        )
        posterior = resumed(kept.posterior, network)
    except (KeyError, TypeError, AttributeError, NotImplementedError) as error:
        raise CheckpointError(
            f"{path} holds no estimator that this version knows ({error!r}). Fit it again."
        ) from error
    fitted = {
        "model_": network,
        "posterior_": posterior,
        "encoder_": kept.encoder,
        "showing_": kept.showing,
        "columns_": kept.columns,
        "n_features_in_": kept.num_features,
        **({} if kept.names is None else {"feature_names_in_": kept.names}),
        **kept.labels,
    }
    vars(estimator).update(fitted)
    return estimator, kept.target


@singledispatch
def resumed(kept: object, model: Model) -> Posterior:
    """The posterior that a file kept this of."""
    raise NotImplementedError(type(kept).__name__)


@resumed.register
def _(kept: KeptPosterior, model: Model) -> PFNPosterior:
    return PFNPosterior.resumed(model, kept)  # pyright: ignore[reportArgumentType]


@resumed.register
def _(kept: KeptPermuted, model: Model) -> PermutedPosterior:
    return PermutedPosterior([resumed(each, model) for each in kept.posteriors], kept.views, kept.num_classes)


@resumed.register
def _(kept: KeptLocal, model: Model) -> LocalPosterior:
    predictor = Permuted(model, kept.views, kept.num_classes) if kept.views else model
    return LocalPosterior(predictor, kept.context, kept.coordinates, kept.centres, kept.rows)
