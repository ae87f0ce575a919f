import numpy as np
import pytest
from estimators.tiny_models import PADDED_REALS, random_model
from sklearn.pipeline import make_pipeline

from priorfit.errors import TableWarning
from priorfit.estimators import PFNRegressor, notices


def test_a_warning_points_to_the_line_that_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(notices, "OURS", (*notices.OURS, "remembered_checks"))  # what stands around calls in tests
    x = np.array([[1.0, np.nan], [2.0, 3.0], [4.0, 5.0]])
    for estimator in (
        PFNRegressor(random_model(PADDED_REALS)),
        make_pipeline(PFNRegressor(random_model(PADDED_REALS))),
    ):
        with pytest.warns(TableWarning) as caught:
            estimator.fit(x, [0.0, 1.0, 2.0])
        assert caught[0].filename == __file__
