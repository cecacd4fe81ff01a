"""Regularised linear regression: instances, the family, and what its output is."""

from certune.families.regression.family import RegularizedRegression
from certune.families.regression.instance import RegressionInstance
from certune.families.regression.model import LinearModel

__all__ = ["LinearModel", "RegressionInstance", "RegularizedRegression"]
