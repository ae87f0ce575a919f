import pytest
import torch
from scipy.integrate import quad
from scipy.stats import beta

from priorfit.baselines import ExactBetaBernoulli
from priorfit.priors import BetaBernoulli


@pytest.mark.parametrize("labels", [[], [1.0], [0.0, 1.0, 1.0, 1.0]])
def test_the_predictive_equals_bayes_rule_by_numerical_integration(labels):
    y = torch.tensor(labels, dtype=torch.float64)
    ones, n = float(y.sum()), len(labels)

    def joint(p, extra):
        return beta.pdf(p, 2.0, 3.0) * p ** (ones + extra) * (1 - p) ** (n - ones)

    expected = quad(joint, 0, 1, args=(1,))[0] / quad(joint, 0, 1, args=(0,))[0]
    x = torch.zeros(n, 1, dtype=torch.float64)
    ppd = ExactBetaBernoulli(BetaBernoulli(2.0, 3.0)).condition(x, y).predict(torch.zeros(2, 1, dtype=torch.float64))
    torch.testing.assert_close(ppd.probs[:, 1], torch.full((2,), expected, dtype=torch.float64), rtol=0, atol=1e-9)
