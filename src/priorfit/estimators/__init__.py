"""scikit-learn estimators over any PFN: of the zoo, of a folder, or a model that you trained."""

from priorfit.estimators.classifier import PFNClassifier as PFNClassifier
from priorfit.estimators.loading import load_estimator as load_estimator
from priorfit.estimators.regressor import PFNRegressor as PFNRegressor
