from collections.abc import Callable

import pytest
import torch
from torch import nn

import priorfit as pf
from priorfit.network.solver.constants import Constants

CHANGES: dict[str, Callable[[nn.Linear], object]] = {
    "in place": lambda layer: nn.init.constant_(layer.weight, 3.0),
    "loaded": lambda layer: layer.load_state_dict({"weight": torch.full((1, 1), 3.0), "bias": layer.bias.clone()}),
    "in another precision": lambda layer: layer.double(),
    "replaced": lambda layer: layer.register_parameter("weight", nn.Parameter(torch.full((1, 1), 3.0), False)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_change_of_the_weights_is_noticed(change: Callable[[nn.Linear], object]):
    layer, constants = nn.Linear(1, 1).requires_grad_(False), Constants()
    before = constants.of(layer, lambda: layer.weight.clone())
    assert constants.of(layer, lambda: layer.weight.clone()) is before
    change(layer)
    after = constants.of(layer, lambda: layer.weight.clone())
    assert after is not before and torch.equal(after, layer.weight)


def test_weights_that_are_trained_or_uncounted_are_read_each_time():
    layer, constants = nn.Linear(1, 1), Constants()
    assert constants.of(layer, lambda: layer.weight * 2).requires_grad
    assert constants.of(layer, lambda: layer.weight * 2) is not constants.of(layer, lambda: layer.weight * 2)
    with torch.inference_mode():
        layer, calls = nn.Linear(1, 1).requires_grad_(False), []
        for _ in range(2):
            constants.of(layer, lambda: calls.append(1))
    assert len(calls) == 2


def test_a_network_that_was_changed_answers_as_one_that_was_so_from_the_start():
    x, y = torch.rand(8, 1), torch.rand(8)
    model, other = pf.load("gp-hyper-1d"), pf.load("gp-hyper-1d")
    first = model.condition(x, y).predict(x).mean
    for each in (model, other):
        with torch.no_grad():
            each.solver.anchors.mul_(1.5)
    changed = model.condition(x, y).predict(x).mean
    assert torch.equal(changed, other.condition(x, y).predict(x).mean) and not torch.equal(changed, first)
