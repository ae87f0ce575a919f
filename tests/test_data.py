import pytest
import torch
from forked import run_forked
from torch.distributions import Normal

from priorfit.data import Batch, Classes, Datasets
from priorfit.errors import InputError


@pytest.mark.parametrize("num_context", [0, 1, 4])
def test_a_split_gives_the_first_points_as_context_and_the_others_as_queries(num_context):
    x, y = torch.rand(2, 5, 3), torch.rand(2, 5)
    batch = Datasets(x, y).split(num_context)
    assert torch.equal(torch.cat([batch.context_x, batch.query_x], dim=1), x)
    assert torch.equal(torch.cat([batch.context_y, batch.query_y], dim=1), y)
    assert batch.context_y.shape == (2, num_context)
    assert batch.query_law is None


def test_a_split_asks_the_conditional_for_its_number_of_points():
    asked = []

    def conditional(num_context):
        asked.append(num_context)
        return Normal(torch.zeros(2, 5 - num_context), 1.0)

    assert Datasets(torch.rand(2, 5, 3), torch.rand(2, 5), conditional).split(3).query_law.batch_shape == (2, 2)
    assert asked == [3]


def test_datasets_may_have_no_batch_or_several_batch_dimensions():
    assert Datasets(torch.rand(5, 3), torch.rand(5)).split(2).query_x.shape == (3, 3)
    assert Datasets(torch.rand(2, 4, 5, 3), torch.rand(2, 4, 5)).split(2).query_x.shape == (2, 4, 3, 3)


@pytest.mark.parametrize("num_context", [-1, 5, 6])
def test_a_split_needs_at_least_one_query(num_context):
    with pytest.raises(InputError, match=f"below the 5 points drawn; got {num_context}"):
        Datasets(torch.rand(2, 5, 3), torch.rand(2, 5)).split(num_context)


def test_targets_must_match_the_inputs_even_where_no_annotation_is_checked():
    code = "import torch; from priorfit.data import Datasets; Datasets(torch.rand(2, 5, 3), torch.rand(5, 2))"
    ran = run_forked(code)
    assert "ShapeError: y must have shape (*batch, points) = (2, 5) to match x" in ran.stderr


def test_one_class_is_refused():
    with pytest.raises(InputError, match="at least 2 classes; got 1"):
        Classes(1)


def test_datasets_may_say_how_they_are_divided():
    x, y = torch.rand(2, 5, 1), torch.rand(2, 5)
    shown = Datasets(x, y, divide=lambda n: Batch(x[:, :n], -y[:, :n], x[:, n:], y[:, n:]))
    assert torch.equal(shown.split(3).context_y, -y[:, :3]) and torch.equal(shown.split(3).query_y, y[:, 3:])
    with pytest.raises(InputError, match="num_context must be at least 0 and below the 5 points drawn"):
        shown.split(5)
