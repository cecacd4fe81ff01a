"""scikit-learn estimators that run the algorithms of the families at one setting."""

from __future__ import annotations

from certune.estimators.choice import estimator_for
from certune.estimators.harmonic_classifier import HarmonicClassifier
from certune.estimators.linkage_clustering import LinkageClustering

__all__ = ["HarmonicClassifier", "LinkageClustering", "estimator_for"]
