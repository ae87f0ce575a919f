import torch

from priorfit.network.validation import is_finite


def test_finite_numbers_are_so_though_their_sum_is_not():
    large = torch.full((4,), 3e38)
    assert is_finite(large) and is_finite(torch.arange(3)) and is_finite(torch.empty(0))
    assert not is_finite(torch.tensor([torch.inf, -torch.inf]))
    assert not is_finite(torch.cat([large, torch.tensor([torch.nan])]))
