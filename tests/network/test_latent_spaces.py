import pytest
import torch
from torch.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Gamma,
    HalfNormal,
    LogNormal,
    MixtureSameFamily,
    Normal,
    Uniform,
)

from priorfit.description import build, describe
from priorfit.distributions import NormalMixture
from priorfit.errors import InputError
from priorfit.network.latent_spaces import LatentSpace, spaces_of
from priorfit.network.latents.densities import LatentDensity
from priorfit.priors.latents import named_latents, sampled
from priorfit.seeding import seeded

PEAKS = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), 0.3))
SOURCES = {
    "flat": Uniform(2.0, 10.0),
    "real": Normal(1.0, 3.0).expand([2]),
    "positive": LogNormal(-3.0, 0.5),
    "shape": Gamma(2.0, 1.0),
    "share": Beta(2.0, 5.0),
    "peaks": PEAKS,
    "scale": HalfNormal(1.0),
    "child": lambda scale: Normal(0.0, scale),
    "below": lambda scale: Uniform(torch.zeros_like(scale), scale),
    "kind": Categorical(torch.ones(3)),
    "flip": Bernoulli(0.2),
}


@pytest.fixture(scope="module")
def drawn():
    latents = named_latents(SOURCES)
    with seeded(0):
        draws = sampled(latents, 4096)
    return spaces_of(latents, draws), draws


def test_spaces_have_the_supports_of_the_latents(drawn):
    kinds = {space.name: space.kind for space in drawn[0]}
    assert kinds == {
        "flat": "bounded",
        "real": "real",
        "positive": "above",
        "shape": "above",
        "share": "bounded",
        "peaks": "real",
        "scale": "above",
        "child": "real",
        "below": "above",  # its upper bound depends on another latent
        "kind": "classes",
        "flip": "classes",
    }
    assert [space.count for space in drawn[0]][-2:] == [3, 2]


def test_coordinates_have_about_unit_spread_and_lead_back(drawn):
    for space in drawn[0]:
        value = drawn[1][space.name]
        number = space.encoded(value)
        torch.testing.assert_close(space.decoded(number).to(value), value, rtol=1e-4, atol=1e-4)
        if space.kind != "classes":
            assert abs(float(number.median())) < 0.2 and 0.7 < float(number.std()) < 2.0, space.name


def test_a_uniform_latent_has_a_standard_normal_coordinate(drawn):
    space = drawn[0][0]
    assert (space.shift, space.scale, space.origin, space.extent) == ((0.0,), (1.0,), (2.0,), (8.0,))
    middle = space.decoded(torch.tensor([[0.0], [1.0]]))
    torch.testing.assert_close(middle, 2 + 8 * torch.special.ndtr(torch.tensor([[0.0], [1.0]]).double()))


def test_a_density_lies_within_the_support_and_integrates_to_1(drawn):
    mixture = NormalMixture(torch.zeros(1, 2), torch.tensor([[-1.0, 0.5]]), torch.tensor([[0.5, 2.0]]))
    by_name = {space.name: space for space in drawn[0]}
    for name, low, high in (("flat", 2.0, 10.0), ("positive", 0.0, 60.0), ("share", 0.0, 1.0)):
        density = LatentDensity(mixture, by_name[name])
        levels = density.icdf(torch.linspace(0.001, 0.999, 999).double()[:, None])[:, 0]
        middles, widths = (levels[1:] + levels[:-1]) / 2, levels.diff()
        assert float((density.log_prob(middles[:, None])[:, 0].exp() * widths).sum()) == pytest.approx(0.998, abs=0.01)
        assert low <= float(levels.min()) and float(levels.max()) <= high + 1e-6
        torch.testing.assert_close(density.cdf(levels[:, None])[:, 0], torch.linspace(0.001, 0.999, 999).double())
        assert float(density.log_prob(low - 1.0)) == -torch.inf
        drawn_mean = float(density.sample((20_000,)).mean())
        assert drawn_mean == pytest.approx(float(density.mean[0]), rel=0.2)


def test_values_outside_of_the_support_are_refused(drawn):
    by_name = {space.name: space for space in drawn[0]}
    with pytest.raises(InputError, match="latent 'flat' must be 2 to 10; got 11"):
        by_name["flat"].check(torch.tensor([[3.0], [11.0]]))
    with pytest.raises(InputError, match="latent 'positive' must be above 0; got -1"):
        by_name["positive"].check(torch.tensor([[-1.0]]))
    with pytest.raises(InputError, match="latent 'kind' must be 0 ... 2; got 1.5"):
        by_name["kind"].check(torch.tensor([[1.5]]))


def test_spaces_are_plain_data(drawn):
    for space in drawn[0]:
        assert build(describe(space), {"LatentSpace": LatentSpace}) == space
