"""Conditioned models as files: read with the model that they were made by."""

from pathlib import Path

from priorfit.errors import CheckpointError
from priorfit.network import Model
from priorfit.network.binding import bound
from priorfit.network.kept_loading import KeptFile, check_same, own_model, read_kept
from priorfit.network.posterior import PFNPosterior
from priorfit.priors import Prior
from priorfit.zoo.catalogue import KINDS, load, names


def load_posterior(
    path: str | Path, model: Model | str | Path | None = None, prior: Prior | None = None
) -> PFNPosterior:
    """A posterior from the folder that `PFNPosterior.save` wrote: it predicts at once, with the same answers.

    The folder holds the model, or its hash and the name by which it was released. ``model`` takes the place of either,
    if it is the same one: a `Model` that many posteriors share, or the folder of one that is no longer released.
    ``prior`` binds a prior of one's own again, as in `load`.

    >>> import tempfile, torch
    >>> posterior = load("gp-rbf-1d").condition(torch.rand(20, 1), torch.randn(20))
    >>> folder = Path(tempfile.mkdtemp()) / "fit"
    >>> posterior.save(folder)
    >>> x = torch.rand(5, 1)
    >>> bool((load_posterior(folder).predict(x).mean == posterior.predict(x).mean).all())
    True
    """
    file = read_kept(path, "posterior")
    network = model_of(file, path, model)
    return PFNPosterior.resumed(bound(network, prior) if prior is not None else network, file.kept)  # pyright: ignore[reportArgumentType]


def model_of(file: KeptFile, path: str | Path, model: Model | str | Path | None = None) -> Model:
    """The model that a file was made by: the one given, the one in the file, or the released one of its name."""
    record = file.record
    if model is not None:
        return check_same(model if isinstance(model, Model) else load(model), record, path)
    if not record.released:
        return check_same(own_model(file, path, KINDS), record, path)
    if record.name not in names():
        raise CheckpointError(
            f"{path} was made by the released model {record.name!r}, which this version of priorfit does not have. "
            "Install the version that has it, or pass the folder of that model: load_posterior(path, model=...)."
        )
    return check_same(load(record.name), record, path)
