import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from priorfit.distributions.shapes import broadcast_shapes
from priorfit.errors import ShapeError

shapes = st.lists(st.lists(st.integers(0, 3), max_size=4).map(tuple), max_size=3)


@given(shapes)
def test_shapes_broadcast_as_those_of_torch_do(some: list[tuple[int, ...]]):
    try:
        expected = torch.broadcast_tensors(*(torch.empty(shape) for shape in some))[0].shape if some else torch.Size()
    except RuntimeError:
        with pytest.raises(ShapeError, match="do not broadcast"):
            broadcast_shapes(*some)
    else:
        assert broadcast_shapes(*some) == expected
