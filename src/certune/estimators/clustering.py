"""What clustering estimators have in common: the instance that they make of samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from certune.checks import is_whole
from certune.errors import InputError, ParameterError
from certune.families.linkage import ClusteringInstance

Metric: TypeAlias = str | Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], float]


def is_precomputed(metric: Any) -> bool:
    """Does the metric say that samples are given by their distances?"""
    return isinstance(metric, str) and metric == "precomputed"


def clustering_instance(estimator: Any, X: Any, any_number: bool = False) -> ClusteringInstance:
    """Make an instance of samples for an estimator with `n_clusters` and `metric`.

    With ``any_number`` of clusters, `n_clusters` is not looked at.
    """
    points = validate_data(estimator, X, dtype=np.float64, ensure_min_samples=2)
    n_clusters = 1 if any_number else _checked_n_clusters(estimator, len(points))
    if not is_precomputed(estimator.metric):
        return ClusteringInstance(points=points, metrics=estimator.metric, k=n_clusters)
    if points.shape[0] != points.shape[1]:
        raise InputError(
            "With metric='precomputed' X must be a square matrix of distances, got the "
            f"shape {points.shape}; pass coordinates with another metric."
        )
    return ClusteringInstance(distances=points, k=n_clusters)


def _checked_n_clusters(estimator: Any, n_samples: int) -> int:
    count: Any = estimator.n_clusters
    if not is_whole(count) or count < 1:
        raise ParameterError(
            f"The 'n_clusters' parameter of {type(estimator).__name__} must be an int in the range "
            f"[1, inf). Got {count!r} instead."
        )
    if count > n_samples:
        raise ParameterError(
            f"n_samples={n_samples} should be >= n_clusters={count}: ask for fewer clusters."
        )
    return int(count)
