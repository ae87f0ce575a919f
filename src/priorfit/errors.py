"""The errors of priorfit. Their messages say what was expected, what was given, and what to do."""


class PriorfitError(Exception):
    """The parent of all errors of this library."""


class ShapeError(PriorfitError, ValueError):
    """A tensor has the wrong shape."""


class InputError(PriorfitError, ValueError):
    """A value, a table or an argument cannot be used."""


class CellTypeError(InputError, TypeError):
    """A cell of a table is neither a number nor a text."""


class PriorError(PriorfitError, ValueError):
    """A prior draws something that no network can be fitted to."""


class BucketError(PriorfitError, ValueError):
    """No buckets can be laid over these targets."""


class RecipeError(PriorfitError, ValueError):
    """A recipe has an unknown, missing or contradictory setting."""


class CheckpointError(PriorfitError, ValueError):
    """A saved model is truncated, foreign, or of a newer format."""


class UnknownModelError(PriorfitError, LookupError):
    """No model of that name or path exists."""


class UnknownLatentError(PriorfitError, KeyError):
    """No latent has that name."""

    def __str__(self) -> str:
        """The message as it is; a KeyError would put it in quotes."""
        return str(self.args[0])


class TrainingError(PriorfitError, RuntimeError):
    """Training cannot go on."""


class FitError(PriorfitError, RuntimeError):
    """A baseline could not be fitted to a dataset."""


class TimeLimitError(PriorfitError, TimeoutError):
    """A baseline ran out of time before it had an answer."""


class MissingExtraError(PriorfitError, ImportError):
    """An optional package is not installed."""


class UncertainTruthWarning(UserWarning):
    """Two independent runs of importance sampling differ by more than may be called the truth."""


class GapWarning(UserWarning):
    """A training ended before the gap that was asked for was reached."""


class OutsideTrainingWarning(UserWarning):
    """A model is used on data outside of what it was trained on."""


class TableWarning(UserWarning):
    """A table was changed before a model saw it: values imputed, columns or rows chosen, levels that are not known."""
