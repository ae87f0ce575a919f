import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal, Uniform
from torch.testing import assert_close

import priorfit as pf
from priorfit.importance.branches import branches_of
from priorfit.seeding import seeded
from priorfit.training.laws.network import FORMS, Form, Labels, LawNetwork

CASES = 100_000


@pf.prior(
    num_features=2, inputs=pf.UniformInputs(-1.0, 3.0), slope=Uniform(0.0, 2.0).expand([2]), noise=Uniform(1.0, 2.0)
)
def planes(x: torch.Tensor, slope: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """Planes far from zero, in large units."""
    return 500 + 40 * (x * slope[:, None]).sum(-1) + noise * torch.randn(x.shape[:2])


@pf.prior(num_features=1, outcome=pf.Classes(3), bias=Normal(0.0, 1.0))
def labels(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Three classes."""
    return Categorical(logits=torch.stack([bias * x[..., 0], bias + 0 * x[..., 0], x[..., 0]], dim=-1)).sample()


def numbers_of(form: Form | Labels) -> torch.Tensor:
    with seeded(1):
        return torch.randn(CASES, form.count, dtype=torch.float64)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_form_is_the_mixture_that_torch_makes_of_its_parts(form: Form):
    numbers, y = numbers_of(form), 3 * torch.randn(CASES, dtype=torch.float64)
    means, scales, log_shares = form.parts(numbers)
    law = MixtureSameFamily(Categorical(logits=log_shares), Normal(means, scales))
    assert_close(form.log_prob(numbers, y), law.log_prob(y))
    expected = ((y - law.mean) / law.stddev).clamp(-8, 8)
    assert_close(form.residual(numbers, y)[..., 0], expected)


def test_labels_have_the_log_probabilities_of_a_softmax():
    form, y = Labels(4), torch.randint(4, (CASES,))
    numbers = numbers_of(form)
    law = Categorical(logits=numbers)
    assert_close(form.log_prob(numbers, y), law.log_prob(y))
    residual = form.residual(numbers, y)
    assert_close(residual.sum(-1), torch.zeros(CASES, dtype=torch.float64), atol=1e-12, rtol=0)
    assert_close(1 - residual.gather(-1, y[:, None])[:, 0], law.log_prob(y).exp())


@pytest.mark.parametrize(("prior", "place"), [(planes, 0), (planes, 1), (planes, 2), (labels, 0)])
def test_a_law_has_the_density_that_is_learned_in_the_units_of_the_prior(prior: pf.priors.ProgramPrior, place: int):
    network = LawNetwork(prior, prior.latents, seed=0)
    with seeded(2), torch.no_grad():
        for weight in network.parameters():
            weight.add_(0.3 * torch.randn_like(weight))
        drawn = prior.sample(64, 32)
        u = network.coordinates(drawn.latents)[:, None].expand(-1, 32, -1)
        learned = network.log_prob(network(drawn.x, u), network.in_units(drawn.y), place)
    law = network.law(drawn.x, drawn.latents, place)
    assert_close(law.log_prob(drawn.y), learned - network.scale.log(), rtol=1e-4, atol=1e-4)
    assert law.batch_shape == drawn.y.shape


def test_coordinates_of_draws_are_standard_normal():
    network = LawNetwork(planes, planes.latents, seed=0)
    u = network.coordinates(planes.sample(20_000, 1).latents)
    assert u.shape == (20_000, 3)
    assert_close(u.mean(0), torch.zeros(3), atol=0.03, rtol=0)
    assert_close(u.T.cov(), torch.eye(3), atol=0.04, rtol=0)


@pytest.mark.parametrize(("place", "means"), [(0, 1), (1, 1), (2, 2)])
def test_cells_read_one_mean_where_all_normals_have_one(place: int, means: int):
    network = LawNetwork(planes, planes.latents, seed=0)
    drawn = planes.sample(4, 5)
    found = branches_of(network.law(drawn.x, drawn.latents, place))
    assert found is not None
    assert (found.mean.shape[-1], found.scale.shape[-1]) == (means, FORMS[place].branches)
