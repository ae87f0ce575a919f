"""The prior of tables."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from priorfit.data import Classes, Datasets, Outcome
from priorfit.errors import InputError
from priorfit.fields import check_fields
from priorfit.priors.inputs import Inputs, NormalInputs
from priorfit.priors.prior import Prior
from priorfit.priors.tables.columns import drawn_columns, drawn_levels, with_gaps, with_levels, with_useless
from priorfit.priors.tables.labels import REFERENCE_ROWS, labelled, learnable, long_tailed
from priorfit.priors.tables.mechanisms import MECHANISMS
from priorfit.priors.tables.randomness import Rows, happens, log_uniform, standard, uniform, whole

WEIGHTS = {
    "causal_graph": 0.40,
    "trees": 0.22,
    "smooth": 0.11,
    "network": 0.11,
    "additive": 0.08,
    "prototypes": 0.08,
}
"""How often each kind of table is drawn."""

GROUP = 4
"""Tables of a batch that share a mechanism, its activations and its sizes."""

USUAL_COLUMNS = 20
"""Up to here the number of columns is log-uniform; beyond, it is rarer in proportion."""


@dataclass(frozen=True)
class Tables(Prior):
    """Tables of 1 to ``num_features`` columns, whose targets are classes or reals.

    All tables of a batch have as many columns. Two thirds of what is drawn is kept, by rows that are not shown: where
    these tell least of each other's targets, hardly anything can be learned.

    ``gaps`` is the share of batches with missing values, ``noise`` the range of the noise of targets in units of their
    spread, ``noiseless`` the share of tables without noise, ``wrong_labels`` of those in which some labels are random,
    ``islands`` of those whose classes are several intervals of a score. Where columns are discrete, a share of
    ``exact_levels`` has targets that follow from the levels themselves. ``lengthscales`` are those of the kernels by
    which it is judged what can be learned. Of real targets a share of ``skewed_targets`` has a long tail, and a share
    of ``uneven_noise`` more noise where some column is large.

    >>> import priorfit as pf
    >>> tables = pf.Tables(num_features=8, outcome=pf.Classes(3)).sample(batch_size=4, num_points=10)
    >>> tables.y.shape, tables.x.shape[-1] <= 8
    (torch.Size([4, 10]), True)
    """

    num_features: int = 100
    outcome: Outcome = Classes(10)
    gaps: float = 0.15
    noise: tuple[float, float] = (0.003, 1.0)
    noiseless: float = 0.0
    wrong_labels: float = 0.35
    exact_levels: float = 0.0
    islands: float = 0.0
    lengthscales: tuple[float, ...] = (1.0,)
    skewed_targets: float = 0.0
    uneven_noise: float = 0.0

    inputs: Inputs = field(default=NormalInputs(), init=False, repr=False)  # not used: columns follow from a mechanism
    draws_missing: bool = field(init=False, repr=False)
    fewest_classes: int | None = field(init=False, repr=False)
    draws_own_inputs = True
    shares_latents = True  # the number of columns, and in groups the mechanism
    fewest_features = 1

    def __post_init__(self) -> None:
        check_fields(self)
        shares = (self.gaps, self.noiseless, self.wrong_labels, self.exact_levels, self.islands)
        shares = (*shares, self.skewed_targets, self.uneven_noise)
        if self.num_features < 1 or not all(0 <= share <= 1 for share in shares):
            raise InputError(
                f"Tables needs num_features of at least 1, and every share, such as gaps, in [0, 1]; got {self}."
            )
        if not 0 < self.noise[0] <= self.noise[1] or not self.lengthscales or min(self.lengthscales) <= 0:
            raise InputError(f"Tables needs a range of positive noise and positive lengthscales; got {self}.")
        object.__setattr__(self, "draws_missing", self.gaps > 0)
        object.__setattr__(self, "fewest_classes", 2 if isinstance(self.outcome, Classes) else None)

    @property
    def uses_whole_dataset(self) -> bool:
        """See `Prior.uses_whole_dataset`; columns and scores are standardised over the rows shown and 64 hidden ones.

        The sum of the scores of all rows is 0, but that of the hidden ones is not known: it leaves of a target's
        variance at least 64 / 65 when all other rows that are shown are known.
        """
        return True

    def draw(self, x: Float[Tensor, "batch all_points features"]) -> Datasets:
        """See `Prior.draw`; the inputs that are given decide the number of tables and rows alone, and the dtype."""
        drawn = self.sample(x.shape[0], x.shape[1])
        return Datasets(drawn.x.to(x), drawn.y.to(x))

    def sample(self, batch_size: int, num_points: int) -> Datasets:
        """See `Prior.sample`."""
        return self.sample_with_kinds(batch_size, num_points)[0]

    def sample_with_kinds(self, batch_size: int, num_points: int) -> tuple[Datasets, Int[Tensor, " batch"]]:
        """As `sample`, with the mechanism behind each table: its place in `WEIGHTS`."""
        columns = num_columns(self.num_features)
        rows = num_points + REFERENCE_ROWS
        groups = -(-3 * batch_size // (2 * GROUP))
        drawn = [self._group(rows, columns) for _ in range(groups)]
        x, y, kinds = (torch.cat(parts) for parts in zip(*drawn, strict=True))
        kept = learnable(x, y, isinstance(self.outcome, Classes), batch_size, self.lengthscales)
        x, y = x[kept], y[kept]
        x = with_gaps(x) if happens(self.gaps) else x
        return Datasets(x[:, REFERENCE_ROWS:], y[:, REFERENCE_ROWS:]), kinds[kept]

    def _group(self, rows: int, columns: int) -> tuple[Rows, Num[Tensor, "tables rows"], Int[Tensor, " tables"]]:
        place = int(torch.multinomial(torch.tensor(list(WEIGHTS.values())), 1))
        kind, kinds = list(WEIGHTS)[place], torch.full((GROUP,), place)
        classes = self.outcome.count if isinstance(self.outcome, Classes) else 1
        count = 2 if classes == 2 or happens(0.6) else whole(3, classes) if classes > 2 else 1
        outputs = 1 if count <= 2 or happens(0.3) else count
        has_exact = bool(self.exact_levels) and happens(0.5 * self.exact_levels)
        x, scores = MECHANISMS[kind]((GROUP, rows, columns), outputs, drawn_levels if has_exact else drawn_columns)
        scores = standard(scores)
        if not self.noiseless or not happens(self.noiseless):
            size = torch.tensor(log_uniform(*self.noise))
            if self.uneven_noise and happens(self.uneven_noise):
                size = size * torch.exp(uniform(0.0, 0.8) * standard(x[..., :1]).clamp(-2.5, 2.5))
            scores = scores + size * torch.randn_like(scores)
        x = with_levels(x) if not has_exact and happens(0.5) else x
        x = with_useless(x) if happens(0.3) else x
        if isinstance(self.outcome, Classes):
            return x, labelled(scores, count, self.wrong_labels, self.islands), kinds
        y = scores[..., 0]
        return x, long_tailed(y) if self.skewed_targets and happens(self.skewed_targets) else y, kinds


def num_columns(most: int) -> int:
    """How many columns the tables of a batch have."""
    while True:
        columns = whole(1, most)
        if happens(USUAL_COLUMNS / max(columns, USUAL_COLUMNS)):
            return columns
