"""The settings of a network for tables."""

from dataclasses import dataclass, replace

from jaxtyping import Num
from torch import Tensor

from priorfit.data import Classes
from priorfit.errors import RecipeError
from priorfit.fields import check_fields
from priorfit.network.card import ModelCard
from priorfit.network.heads.head import HeadSettings
from priorfit.network.heads.mixture import NormalMixtureHead
from priorfit.network.model import ModelSettings
from priorfit.network.problem import Problem
from priorfit.network.tables.network import TableNetwork


@dataclass(frozen=True)
class TableSettings(ModelSettings):
    """A network whose tokens are the cells of a table; a recipe's ``[network]`` with ``type = "TableSettings"``.

    ``sinks`` learned rows stand behind those of the context in every layer. ``output`` is the head of real targets;
    classes are answered by one number for each, whether the row is of that class or of another.

    >>> TableSettings(width=32, layers=1).build(Problem(5, Classes(3), min_features=1, units="free")).summary()[:12]
    'TableNetwork'
    """

    width: int = 64
    layers: int = 3
    attention_heads: int = 2
    feedforward: int = 128
    sinks: int = 8
    output: HeadSettings | None = None

    def __post_init__(self) -> None:
        check_fields(self, RecipeError)
        if min(self.width, self.layers, self.attention_heads, self.feedforward, self.sinks) < 1:
            raise RecipeError(f"width, layers, attention_heads, feedforward and sinks must be at least 1; got {self}.")
        if self.width % self.attention_heads:
            raise RecipeError(
                "width must be a multiple of attention_heads; "
                f"got width={self.width}, attention_heads={self.attention_heads}."
            )

    def build(
        self,
        problem: Problem,
        card: ModelCard | None = None,
        target_sample: Num[Tensor, "batch points"] | None = None,
    ) -> TableNetwork:
        """See `ModelSettings.build`."""
        return TableNetwork(self, problem, card)

    @property
    def trunk(self) -> "TableSettings":
        """The settings but for the head: networks that share them can begin with each other's weights."""
        return replace(self, output=None)

    def output_for(self, problem: Problem) -> HeadSettings | None:
        """The head of real targets; None for classes, which need none."""
        if isinstance(problem.outcome, Classes):
            return None
        return self.output or NormalMixtureHead()
