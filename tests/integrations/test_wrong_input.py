"""Each mistake in the input of `PFNModel` gets a sentence of its own."""

import math

import pytest
import torch
from integrations.hill import BOUNDS, objective
from network.tiny_networks import shaken

from priorfit.data import Classes, Real
from priorfit.errors import InputError, ShapeError
from priorfit.integrations.botorch import PFNModel
from priorfit.network import LinearSolver, NetworkSettings, Problem


def test_bad_input_gets_a_sentence_each(data, model):
    x, y = data
    labels = shaken(NetworkSettings(16, 1, 2, 16, solver=LinearSolver(4, 1, 8)), Problem(1, Classes(2), (0.0, 1.0)))
    with pytest.raises(InputError, match="needs a model of real outcomes; .* answers 2 classes"):
        PFNModel(labels, x, y, BOUNDS)
    with pytest.raises(InputError, match=r"column 0 has bounds \[-2, 3\] and holds 3.5"):
        model.posterior(torch.tensor([[3.5]]).double())
    with pytest.raises(InputError, match=r"column 0 has bounds \[0, 1\] and holds -1.8"):
        PFNModel("gp-rbf-1d", x, y)
    many = torch.linspace(-2, 3, 101).double()[:, None]
    with pytest.raises(InputError, match="trained on at most 100 points and is given 101"):
        PFNModel("gp-rbf-1d", many, objective(many), BOUNDS)
    full = PFNModel("gp-rbf-1d", many[:100], objective(many[:100]), BOUNDS)
    with pytest.raises(InputError, match="trained on at most 100 points and is given 101"):
        full.condition_on_observations(many[:1], y[:1])
    with pytest.raises(InputError, match="train_Y holds NaN or infinite outcomes; drop failed evaluations"):
        PFNModel("gp-rbf-1d", x, y.clone().fill_(math.nan), BOUNDS)
    with pytest.raises(InputError, match="train_X holds NaN"):
        PFNModel("gp-rbf-1d", x.clone().fill_(math.nan), y, BOUNDS)
    with pytest.raises(ShapeError, match=r"train_Y \(\*batch, n, 1\), one outcome; got \(5, 1\) and \(5, 2\)"):
        PFNModel("gp-rbf-1d", x, y.expand(-1, 2), BOUNDS)
    with pytest.raises(ShapeError, match="this model takes 1 column; train_X has 2"):
        PFNModel("gp-rbf-1d", x.expand(-1, 2), y, BOUNDS)
    with pytest.raises(ShapeError, match=r"bounds must have shape \(2, columns\) = \(2, 1\)"):
        PFNModel("gp-rbf-1d", x, y, BOUNDS.T)
    with pytest.raises(InputError, match="bounds must be finite, the upper ones above the lower ones"):
        PFNModel("gp-rbf-1d", x, y, BOUNDS.flip(0))
    with pytest.raises(InputError, match="X must have the 1 columns of train_X"):
        model.posterior(torch.rand(3, 2).double())
    with pytest.raises(InputError, match="observation_noise must be True or False, not a tensor"):
        model.posterior(x, observation_noise=torch.ones(1))
    with pytest.raises(InputError, match="one outcome, whose index is 0"):
        model.subset_output([1])
    unbounded = shaken(NetworkSettings(16, 1, 2, 16), Problem(1, Real()))
    with pytest.raises(InputError, match="needs a model whose inputs lay in a box"):
        PFNModel(unbounded, x, y)
