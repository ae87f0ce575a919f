import torch
from torch.distributions import Categorical

from priorfit.data import Classes
from priorfit.network import TemperedHead


def test_a_tempered_head_multiplies_the_log_probabilities_of_a_guess_and_adds_its_own_numbers():
    head = TemperedHead().build(Classes(3), None)
    guess = Categorical(logits=torch.tensor([[2.0, 0.0, -1.0]]))
    assert head.num_parameters == 4
    torch.testing.assert_close(head(torch.zeros(1, 4), guess).probs, guess.probs)  # pyright: ignore[reportAttributeAccessIssue]
    numbers = torch.tensor([[0.5, 0.0, -0.5, 0.4]])
    factor = torch.exp(2 * torch.tanh(torch.tensor(0.2)))
    expected = (factor * guess.logits + numbers[:, :3]).softmax(-1)
    torch.testing.assert_close(head(numbers, guess).probs, expected)  # pyright: ignore[reportAttributeAccessIssue]
    torch.testing.assert_close(head(numbers).probs, numbers[:, :3].softmax(-1))  # pyright: ignore[reportAttributeAccessIssue]


def test_the_factor_stays_within_bounds():
    head = TemperedHead().build(Classes(2), None)
    guess = Categorical(logits=torch.tensor([[1.0, -1.0]]))
    for extreme in (-50.0, 50.0):
        logits = head(torch.tensor([[0.0, 0.0, extreme]]), guess).logits[0]  # pyright: ignore[reportAttributeAccessIssue]
        assert bool(logits.isfinite().all())
        assert 2 * torch.exp(torch.tensor(-2.0)) <= logits[0] - logits[1] <= 2 * torch.exp(torch.tensor(2.0))
