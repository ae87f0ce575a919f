"""Equal mixtures: all of them agree with the average of their parts' densities."""

import pytest
import torch
from torch.distributions import Categorical, Normal

from priorfit.distributions import NormalMixture, UnboundedRiemann
from priorfit.distributions.joining import joined, selected
from priorfit.distributions.mixing import EqualMixture, mixed
from priorfit.errors import InputError
from priorfit.metrics import crps
from priorfit.seeding import seeded

NORMALS = [Normal(torch.tensor([0.0, 5.0]).double(), 1.0), Normal(torch.tensor([1.0, 4.0]).double(), 0.1)]
POINTS = torch.linspace(-7, 7, 29).double()[:, None]
LEVELS = torch.tensor([1e-6, 0.05, 0.5, 0.9, 1 - 1e-6]).double()[:, None]


def bars(shift: float) -> UnboundedRiemann:
    borders = shift + torch.linspace(-2, 2, 9).double()
    return UnboundedRiemann(borders, torch.linspace(0, 1, 16).double().reshape(2, 8))


def test_a_mixture_of_normals_is_one_and_the_general_form_agrees_with_it():
    exact, general = mixed(NORMALS), EqualMixture(NORMALS)
    assert isinstance(exact, NormalMixture)
    for name in ("mean", "variance", "median"):
        torch.testing.assert_close(getattr(general, name), getattr(exact, name))
    for name in ("log_prob", "cdf"):
        torch.testing.assert_close(getattr(general, name)(POINTS), getattr(exact, name)(POINTS))
    torch.testing.assert_close(general.icdf(LEVELS), exact.icdf(LEVELS), rtol=1e-9, atol=1e-9)


def test_components_keep_their_weights_beside_those_of_other_parts():
    two = NormalMixture(torch.tensor([0.2, 0.8]).log() + 7, torch.tensor([0.0, 4.0]), torch.ones(2))
    found = mixed([two, Normal(torch.tensor(9.0), torch.tensor(2.0))])
    torch.testing.assert_close(found.probs, torch.tensor([0.1, 0.4, 0.5]))


def test_bars_of_different_borders_are_mixed_exactly():
    parts = [bars(0.0), bars(0.7)]
    ppd = mixed(parts)
    assert isinstance(ppd, EqualMixture)
    density = (parts[0].log_prob(POINTS).exp() + parts[1].log_prob(POINTS).exp()) / 2
    torch.testing.assert_close(ppd.log_prob(POINTS).exp(), density)
    quantiles = ppd.icdf(LEVELS)
    torch.testing.assert_close(ppd.cdf(quantiles), LEVELS.expand_as(quantiles), rtol=1e-9, atol=1e-9)
    assert ppd.icdf(torch.tensor([0.0, 1.0]).double()[:, None]).isinf().all()


def test_moments_and_samples_agree():
    ppd = mixed([bars(0.0), bars(3.0)])
    with seeded(0):
        draws = ppd.sample((200_000,))
    torch.testing.assert_close(draws.mean(0), ppd.mean, rtol=0, atol=0.02)
    torch.testing.assert_close(draws.var(0), ppd.variance, rtol=0.02, atol=0)


def test_the_score_of_a_mixture_is_that_of_its_normals():
    y = torch.zeros(2).double()
    torch.testing.assert_close(crps(EqualMixture(NORMALS), y), crps(mixed(NORMALS), y), rtol=0.02, atol=0.005)


def test_probabilities_of_classes_are_averaged():
    parts = [Categorical(torch.tensor([[0.2, 0.8], [0.5, 0.5]])), Categorical(torch.tensor([[0.6, 0.4], [1.0, 0.0]]))]
    torch.testing.assert_close(mixed(parts).probs, torch.tensor([[0.4, 0.6], [0.75, 0.25]]))
    assert mixed(parts[:1]) is parts[0]


def test_parts_of_other_shapes_are_refused():
    with pytest.raises(InputError, match="parts of one batch shape"):
        EqualMixture([bars(0.0), NORMALS[0].expand((3, 2))])


@pytest.mark.parametrize("ppd", [NORMALS[0], mixed(NORMALS), bars(0.0)], ids=["normal", "mixture", "bars"])
def test_what_was_joined_can_be_put_in_another_order(ppd):
    twice = selected(joined([ppd, ppd]), torch.tensor([3, 0]))
    torch.testing.assert_close(twice.log_prob(torch.zeros(2).double()), ppd.log_prob(torch.zeros(2).double()).flip(0))
