"""A network for real targets begins with the trunk of one for classes."""

import pytest
import torch

import priorfit as pf
from priorfit.data import Classes, Real
from priorfit.errors import TrainingError
from priorfit.network import Problem, TableSettings
from priorfit.training.networks import copy_weights

SMALL = TableSettings(width=16, layers=1, feedforward=16)


def network(outcome: pf.Classes | pf.Real, settings: TableSettings = SMALL) -> pf.TableNetwork:
    return settings.build(Problem(5, outcome, min_features=1, units="free"))


def test_all_weights_but_the_heads_are_taken_over() -> None:
    start, new = network(Classes(3)), network(Real())
    copy_weights(start, new)
    found, expected = new.state_dict(), start.state_dict()
    assert all(torch.equal(found[name], expected[name]) for name in expected if not name.startswith("decoder"))
    assert found["decoder.weight"].shape != expected["decoder.weight"].shape


def test_the_same_outcome_takes_the_head_too() -> None:
    start, new = network(Classes(3)), network(Classes(3))
    torch.nn.init.normal_(start.decoder.weight)
    copy_weights(start, new)
    assert torch.equal(new.decoder.weight, start.decoder.weight)


def test_another_width_is_refused() -> None:
    with pytest.raises(TrainingError, match="width=16"):
        copy_weights(network(Classes(3)), network(Real(), TableSettings(width=32, layers=1)))
