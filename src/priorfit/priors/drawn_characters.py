"""Few-shot tasks on characters that a prior draws as square images."""

from priorfit.data import Classes, Outcome
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.class_conditional import ClassConditional, check_shots
from priorfit.priors.inputs import UniformInputs


class DrawnCharacters(ClassConditional):
    """A `ClassConditional` whose inputs are images of ``image_size`` x ``image_size`` pixels, row by row."""

    image_size: int
    """The side of an image in pixels."""

    outcome: Outcome
    """One class for each character of a dataset."""

    inputs = UniformInputs()

    def _check_task(self) -> None:
        """Check types, ways, shots and size, and set the fields that follow from them."""
        check_fields(self)
        object.__setattr__(self, "outcome", Classes(self.num_ways))
        check_shots(self.num_shots)
        if self.image_size < 2:
            raise InputError(f"image_size must be at least 2; got {self.image_size}.")
        object.__setattr__(self, "num_features", self.image_size**2)
