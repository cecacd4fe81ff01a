"""scikit-learn estimators that run the algorithms of the families at one setting."""

from __future__ import annotations

from certune.estimators.choice import estimator_for
from certune.estimators.genie_clusterer import GenieClusterer
from certune.estimators.harmonic_classifier import HarmonicClassifier
from certune.estimators.linkage_clustering import LinkageClustering
from certune.estimators.regularized_logistic_path import RegularizedLogisticPath

__all__ = [
    "GenieClusterer",
    "HarmonicClassifier",
    "LinkageClustering",
    "RegularizedLogisticPath",
    "estimator_for",
]
