import pytest

from priorfit import metrics
from priorfit.baselines import ExactGP
from priorfit.priors import GaussianProcess
from priorfit.seeding import seeded

GP = GaussianProcess(lengthscale=0.5, noise=0.01)
EXACT, ROUGH = ExactGP(GP), ExactGP(GaussianProcess(lengthscale=0.1, noise=0.01))


def test_rows_hold_the_nll_of_each_predictor_on_the_same_datasets() -> None:
    rows = metrics.nll_rows({"exact": EXACT, "again": EXACT, "rough": ROUGH}, GP, context_sizes=[1, 6], num_datasets=50)
    assert [(row["label"], row["n"]) for row in rows] == [
        (name, n) for n in (1, 6) for name in ("exact", "again", "rough")
    ]
    assert rows[0]["nll"] == rows[1]["nll"]
    with seeded(0, 6):
        tasks = GP.sample(50, 7).split(6)
    found = metrics.nll(ROUGH, tasks)
    assert rows[5]["nll"] == pytest.approx(found.mean)
    assert rows[5]["high"] - rows[5]["low"] == pytest.approx(2 * found.half_width)


def test_the_gap_to_itself_is_zero_and_to_another_is_not() -> None:
    rows = metrics.gap_rows({"exact": EXACT, "rough": ROUGH}, EXACT, GP, context_sizes=[6], num_datasets=50)
    assert rows[0]["gap"] == pytest.approx(0.0, abs=1e-5)
    assert rows[1]["low"] > 0.01
