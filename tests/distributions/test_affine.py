import pytest
import torch
from torch.distributions import Laplace, Normal

from priorfit.distributions import BoundedRiemann, UnboundedRiemann, affine
from priorfit.distributions.double import in_double
from priorfit.errors import InputError


@pytest.mark.parametrize("family", [BoundedRiemann, UnboundedRiemann])
def test_each_dataset_may_have_its_own_scale_of_either_sign(family):
    ppd = family(torch.tensor([-1.0, 0.0, 0.5, 3.0]).double(), torch.randn(2, 5, 3).double())
    scale, shift = torch.tensor([[2.0], [-0.5]]).double(), torch.tensor([[1.0], [-1.0]]).double()
    moved = affine(ppd, scale, shift)
    y = torch.rand(7, 2, 5).double()
    assert moved.batch_shape == (2, 5)
    assert moved.borders.shape == (2, 1, 4)
    torch.testing.assert_close(moved.log_prob(scale * y + shift), ppd.log_prob(y) - scale.abs().log())


def test_a_normal_moves_with_its_scale():
    moved = affine(Normal(torch.zeros(3), 2.0), scale=-3.0, shift=1.0)
    assert (moved.mean == 1).all()
    assert (moved.stddev == 6).all()


def test_a_larger_shape_of_scales_enlarges_the_batch():
    assert affine(Normal(0.0, 1.0), torch.ones(4), 0.0).batch_shape == (4,)


@pytest.mark.parametrize(
    ("scale", "shift", "message"),
    [
        (0.0, 0.0, "finite scales other than 0"),
        (torch.nan, 0.0, "not finite: NaN, or beyond the largest number of torch.float32, 3.4e"),
        (1.0, torch.inf, "rescale inputs and targets"),
        (torch.tensor(1e300, dtype=torch.float64), 0.0, "beyond the largest number of torch.float32"),
    ],
)
def test_maps_that_are_not_invertible_are_refused_for_their_own_cause(scale, shift, message):
    with pytest.raises(InputError, match=message):
        affine(Normal(0.0, 1.0), scale, shift)


def test_other_families_are_refused():
    with pytest.raises(InputError, match="affine knows Riemann distributions, Normal and NormalMixture; got Laplace"):
        affine(Laplace(0.0, 1.0), 2.0, 0.0)


@pytest.mark.parametrize(("scale", "shift"), [(1e-9, 1.0), (1.0, 1e12), (1e38, 0.0)])
@pytest.mark.parametrize("family", [BoundedRiemann, UnboundedRiemann])
def test_maps_that_let_borders_collapse_are_refused_in_float32_and_done_in_float64(family, scale, shift):
    ppd = family(torch.tensor([-1.0, 0.0, 0.5, 30.0]), torch.zeros(3), validate_args=True)
    with pytest.raises(InputError, match="borders of torch.float32 that are infinite or no longer distinct"):
        affine(ppd, scale, shift)
    assert affine(in_double(ppd), scale, shift).mean.isfinite()


def test_gradients_flow_to_scale_and_shift():
    scale = torch.tensor(-1.3, dtype=torch.float64, requires_grad=True)
    shift = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)
    borders, logits = torch.tensor([-1.0, 0.0, 0.5, 3.0]).double(), torch.randn(3).double()
    y = torch.tensor([-7.0, -0.3, 0.1, 4.0]).double()

    def log_prob(scale, shift):
        return affine(UnboundedRiemann(borders, logits), scale, shift).log_prob(y)

    assert torch.autograd.gradcheck(log_prob, (scale, shift))
