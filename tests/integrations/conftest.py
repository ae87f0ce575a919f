"""BoTorch is imported by our own modules first, which know the warnings that its import gives."""

import pytest
import torch
from integrations.hill import BOUNDS, objective

from priorfit.integrations.botorch import PFNModel


@pytest.fixture(scope="module")
def data() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.tensor([-1.8, -0.9, 0.1, 2.2, 2.9]).double()[:, None]
    return x, objective(x)


@pytest.fixture(scope="module")
def model(data) -> PFNModel:
    return PFNModel("gp-rbf-1d", *data, bounds=BOUNDS)
