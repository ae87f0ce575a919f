import pytest
import torch
from torch.distributions import Normal

from priorfit.data import Classes, Real
from priorfit.distributions import NormalMixture
from priorfit.errors import InputError
from priorfit.network import AdjustedGuessHead
from priorfit.seeding import seeded

HEAD = AdjustedGuessHead(3).build(Real(), None)


@pytest.fixture
def guess() -> NormalMixture:
    with seeded(0):
        return NormalMixture(torch.randn(2, 5, 40), torch.randn(2, 5, 40), torch.rand(2, 5, 40) + 0.1)


def test_before_training_a_guess_is_hardly_changed(guess: NormalMixture):
    ppd, y = HEAD(HEAD.initial_bias().expand(2, 5, -1), guess), torch.linspace(-1.5, 1.5, 50)[:, None, None]
    assert (ppd.log_prob(y) - guess.log_prob(y)).abs().max() < 5e-3


def test_a_guess_is_moved_and_stretched_as_a_whole(guess: NormalMixture):
    numbers = HEAD.initial_bias().repeat(2, 5, 1)
    numbers[..., 0], numbers[..., 1], numbers[..., 2] = -12.0, 0.5, 0.2
    ppd = HEAD(numbers, guess)
    torch.testing.assert_close(ppd.mean, guess.mean + 0.5 * guess.stddev, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(ppd.scale[..., :40], guess.scale * torch.tensor(0.2).exp())


def test_sharpened_weights_are_powers_of_those_of_the_guess(guess: NormalMixture):
    numbers = HEAD.initial_bias().repeat(2, 5, 1)
    numbers[..., 0], numbers[..., 3] = -12.0, torch.tensor(2.0).log()
    found = HEAD(numbers, guess).probs[..., :40]
    expected = guess.probs.square() / guess.probs.square().sum(-1, keepdim=True)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-3)


def test_it_adjusts_mixtures_of_reals_alone():
    with pytest.raises(InputError, match="adjusts a NormalMixture; got Normal"):
        HEAD(HEAD.initial_bias()[None], Normal(0.0, 1.0))
    with pytest.raises(InputError, match="is for real targets"):
        AdjustedGuessHead().build(Classes(2), None)
