"""Released models: their weights lie inside the package."""

from priorfit.zoo.catalogue import load as load
from priorfit.zoo.catalogue import names as names
from priorfit.zoo.posteriors import load_posterior as load_posterior
