"""Regularised logistic regression: instances, the family, and what its output is."""

from certune.families.logistic.family import RegularizedLogistic, inverse_strength
from certune.families.logistic.instance import ClassificationInstance
from certune.families.logistic.model import LogisticModel, SeveralClassesModel
from certune.families.logistic.path import CoefficientPath
from certune.families.logistic.rosset import SurrogatePath, surrogate_excess_bound

__all__ = [
    "ClassificationInstance",
    "CoefficientPath",
    "LogisticModel",
    "RegularizedLogistic",
    "SeveralClassesModel",
    "SurrogatePath",
    "inverse_strength",
    "surrogate_excess_bound",
]
