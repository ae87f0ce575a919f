import pytest
import torch

import priorfit as pf
from priorfit.errors import InputError, ShapeError


def table(rows: int, columns: int, name: float) -> tuple[torch.Tensor, torch.Tensor]:
    """A table whose targets are the sums of its rows, and whose first column is its name."""
    x = torch.randn(rows, columns)
    x[:, 0] = name
    return x, x.sum(1)


def test_rows_keep_their_targets_come_once_and_are_of_one_table():
    prior = pf.ResampledTables([table(30, 3, 1.0), table(20, 3, 2.0)])
    drawn = prior.sample(40, 20)
    torch.testing.assert_close(drawn.x.sum(-1), drawn.y)
    assert all(len(x[:, 1].unique()) == 20 and len(x[:, 0].unique()) == 1 for x in drawn.x)
    assert drawn.x[:, 0, 0].unique().tolist() == [1.0, 2.0]


def test_tables_with_too_few_rows_or_other_columns_are_not_mixed_in():
    prior = pf.ResampledTables([table(30, 3, 1.0), table(20, 2, 2.0)])
    assert prior.num_features == 3
    assert {tuple(prior.sample(4, 25).x.shape) for _ in range(20)} == {(4, 25, 3)}
    assert {prior.sample(4, 10).x.shape[-1] for _ in range(40)} == {2, 3}
    with pytest.raises(InputError, match="no table has 31 rows; the largest has 30"):
        prior.sample(4, 31)


@pytest.mark.parametrize(
    ("tables", "outcome", "error", "words"),
    [
        ([], pf.Real(), InputError, "at least one table"),
        ([(torch.rand(5), torch.rand(5))], pf.Real(), ShapeError, "table 0 must have x"),
        ([(torch.rand(5, 2), torch.full((5,), torch.nan))], pf.Real(), InputError, "missing"),
        ([(torch.rand(5, 2), torch.arange(5))], pf.Classes(3), InputError, "classes 0 ... 2; got values from 0 to 4"),
    ],
)
def test_what_is_no_table_is_refused(tables, outcome, error: type[Exception], words: str):
    with pytest.raises(error, match=words):
        pf.ResampledTables(tables, outcome)
