"""A problem of one column for the tests of `PFNModel`."""

import torch

BOUNDS = torch.tensor([[-2.0], [3.0]]).double()


def objective(x: torch.Tensor) -> torch.Tensor:
    """A maximum of 7 at 1."""
    return 7 - 0.5 * (x - 1).square().sum(-1, keepdim=True)
