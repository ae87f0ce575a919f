"""Released models: their weights lie inside the package."""

from priorfit.zoo.catalogue import load as load
from priorfit.zoo.catalogue import names as names
