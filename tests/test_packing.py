from dataclasses import dataclass

import numpy as np
import pytest
import torch

from priorfit.errors import CheckpointError, InputError
from priorfit.packing import Packer, Unpacker


@dataclass(frozen=True)
class Pair:
    first: object
    second: object


def returned(value: object) -> object:
    """A value after it was packed and unpacked."""
    packer = Packer()
    plain = packer.packed(value)
    stored = {name: tensor.contiguous() for name, tensor in packer.tensors.items()}  # as a file does
    return Unpacker(stored, [Pair]).value(plain)


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.1, "text", (1, (2,)), [1, [2.5]], {"a": 1, 2: "b"}, torch.float64, torch.Size([2, 3])]
)
def test_plain_values_come_back_as_they_were(value):
    assert returned(Pair(value, value)) == Pair(value, value)


def test_tensors_keep_values_dtype_and_their_order_in_memory():
    base = torch.randn(2, 3, 4, dtype=torch.float64)
    for tensor in (base, base.transpose(0, 2), base[:, None].expand(2, 5, 3, 4), base[:, 1:], torch.tensor(2)):
        found = returned(tensor)
        assert torch.equal(found, tensor) and found.dtype == tensor.dtype
        axes = range(tensor.ndim)
        assert sorted(axes, key=found.stride, reverse=True) == sorted(axes, key=tensor.stride, reverse=True)
    assert returned(base[:, None].expand(2, 5, 3, 4)).stride()[1] == 0  # a repeated axis takes no space
    empty = torch.zeros(3, 0, 2)
    assert returned(empty).shape == (3, 0, 2)


def test_a_tensor_that_comes_twice_is_kept_once_and_stays_shared():
    tensor = torch.randn(100)
    packer = Packer()
    packer.packed(Pair(tensor, [tensor]))
    assert packer.num_bytes == 400
    packer.packed(tensor[None, :, None])  # with other axes
    assert packer.num_bytes == 400
    packer.packed(tensor[1:])
    assert packer.num_bytes == 796
    pair = returned(Pair(tensor, [tensor[None]]))
    assert pair.first.data_ptr() == pair.second[0].data_ptr() and pair.second[0].shape == (1, 100)


def test_arrays_of_numbers_and_of_labels_come_back():
    for array in (
        np.arange(3),
        np.array([0.5, np.nan]),
        np.array(["no", "yes"]),
        np.array(["a", 1, None], dtype=object),
    ):
        found = returned(array)
        assert found.dtype == array.dtype
        np.testing.assert_array_equal(found, array)


def test_what_is_not_known_is_refused():
    with pytest.raises(InputError, match="a function cannot be saved"):
        Packer().packed(Pair(test_what_is_not_known_is_refused, 1))
    unpacker = Unpacker({}, [Pair])
    with pytest.raises(CheckpointError, match="a Popen with args is nothing that this version reads"):
        unpacker.value({"type": "Popen", "fields": {"args": "ls"}})
    with pytest.raises(CheckpointError, match="a Pair with first is nothing"):
        unpacker.value({"type": "Pair", "fields": {"first": 1}})
    with pytest.raises(CheckpointError, match="a value that priorfit wrote"):
        unpacker.value({"dtype": "nn"})
