import pytest
import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement
from botorch.optim import optimize_acqf

import priorfit as pf
from priorfit.errors import InputError, ShapeError
from priorfit.integrations.botorch import PFNModel
from priorfit.integrations.botorch_search import best_point
from priorfit.seeding import seeded

BOX = torch.tensor([[-2.0, 0.0, 10.0], [3.0, 1.0, 30.0]]).double()


class Hill(AcquisitionFunction):
    """A hill with a second, lower one; its top lies at a given share of the box."""

    def __init__(self, top: torch.Tensor) -> None:
        super().__init__(PFNModel("gp-rbf-1d", torch.rand(2, 1), torch.rand(2, 1)))
        self.top = top

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        share = ((X - BOX[0]) / (BOX[1] - BOX[0]))[:, 0]
        lower_hill = -0.3 - 20 * (share - (1 - self.top)).square().sum(-1)
        return torch.maximum(-20 * (share - self.top).square().sum(-1), lower_hill)


@pytest.mark.parametrize("seed", range(20))
def test_the_top_of_a_hill_is_found_within_a_hundredth_of_the_box(seed: int):
    with seeded(seed):
        top = torch.rand(3).double()
    top[0] = [0.0, 1.0, float(top[0])][seed % 3]  # on an edge of the box
    found, value = best_point(Hill(top), BOX, seed)
    assert found.shape == (1, 3)
    assert (found >= BOX[0]).all() and (found <= BOX[1]).all()
    assert ((found - BOX[0]) / (BOX[1] - BOX[0]) - top).abs().max() < 0.01
    assert value > -0.001


def test_it_finds_as_much_as_optimize_acqf_does():
    x = torch.tensor([[0.05], [0.3], [0.5], [0.9]]).double()
    y = torch.sin(9 * x)
    bounds = torch.tensor([[0.0], [1.0]]).double()
    acquisition = LogExpectedImprovement(PFNModel(pf.load("gp-rbf-1d").double(), x, y), best_f=y.max())
    with seeded(0):
        _, theirs = optimize_acqf(acquisition, bounds, 1, 4, raw_samples=64)
    assert float(best_point(acquisition, bounds)[1]) > float(theirs) - 1e-3


def test_a_network_in_the_dtype_of_the_data_is_not_copied_and_stays_as_it_is():
    x, y = torch.rand(3, 1).double(), torch.rand(3, 1).double()
    network = pf.load("gp-rbf-1d")
    assert PFNModel(network, x, y).network is not network
    assert next(network.parameters()).dtype == torch.float32
    double = network.double()
    assert PFNModel(double, x, y).network is double
    trained = double.train().requires_grad_(True)
    PFNModel(trained, x, y)
    assert trained.training and next(trained.parameters()).requires_grad


@pytest.mark.parametrize(
    ("bounds", "kind"), [(torch.rand(3, 2), ShapeError), (torch.tensor([[0.0, 1.0], [1.0, 1.0]]), InputError)]
)
def test_a_box_that_is_none_is_refused(bounds: torch.Tensor, kind: type[Exception]):
    with pytest.raises(kind, match="bounds"):
        best_point(Hill(torch.zeros(3)), bounds)
