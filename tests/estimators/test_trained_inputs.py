import pytest
from estimators.tiny_models import GP, PADDED_LABELS, PADDED_QUARTERS, PADDED_REALS, UNIT_SQUARE, random_model

from priorfit.estimators.trained_inputs import TrainedInputs, trained_inputs
from priorfit.network import PFN, ModelCard, NetworkSettings
from priorfit.priors import (
    GaussianProcess,
    LinearRegression,
    Mixture,
    MixtureInputs,
    NormalInputs,
    PaddedFeatures,
    Prior,
    Standardized,
    UniformInputs,
)

ELSEWHERE = NormalInputs(mean=2.0, scale=3.0)
WIDE, NARROW = UniformInputs(-2.0, 1.0), UniformInputs(0.0, 3.0)

CASES = {
    "plain": (UNIT_SQUARE, TrainedInputs(2, 2, reach=(0.0, 1.0))),
    "padded": (PADDED_REALS, TrainedInputs(1, 6)),
    "padded labels": (PADDED_LABELS, TrainedInputs(1, 6)),
    "padded function of a user": (PADDED_QUARTERS, TrainedInputs(1, 6)),
    "padding within a wrapper": (Standardized(PaddedFeatures(GP, 6, min_features=3)), TrainedInputs(3, 6)),
    "padded uniform inputs": (PaddedFeatures(UNIT_SQUARE, 4, 2), TrainedInputs(2, 4, reach=(0.0, 1.0))),
    "normal inputs elsewhere": (LinearRegression(2, inputs=ELSEWHERE), TrainedInputs(2, 2, mean=2.0, scale=3.0)),
    "a padded mixture of priors": (
        PaddedFeatures(Mixture([LinearRegression(2), GaussianProcess(3, inputs=NARROW)]), 6, 2),
        TrainedInputs(2, 6),
    ),
    "a mixture of padded priors": (
        Mixture([PaddedFeatures(GP, 6, min_features=3), PaddedFeatures(GP, 6, min_features=2)]),
        TrainedInputs(2, 6),
    ),
    "a mixture of ranges": (
        GaussianProcess(1, inputs=MixtureInputs([WIDE, NARROW])),
        TrainedInputs(1, 1, reach=(-2.0, 3.0)),
    ),
    "a mixture of a range and none": (GaussianProcess(1, inputs=MixtureInputs([WIDE, ELSEWHERE])), TrainedInputs(1, 1)),
}


@pytest.mark.parametrize(("prior", "expected"), CASES.values(), ids=CASES.keys())
def test_the_card_tells_the_number_of_features_and_where_inputs_lay(prior: Prior, expected: TrainedInputs):
    assert trained_inputs(random_model(prior)) == expected


def test_a_card_without_a_prior_leaves_the_network_itself():
    model = PFN(NetworkSettings(width=16, layers=1), random_model(PADDED_REALS).task, ModelCard())
    assert trained_inputs(model) == TrainedInputs(6, 6)
