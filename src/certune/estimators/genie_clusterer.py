"""Genie clustering at one threshold, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator, ClusterMixin

from certune.estimators.clustering import Metric, clustering_instance, is_precomputed
from certune.families.genie import GenieClustering


class GenieClusterer(ClusterMixin, BaseEstimator):
    """Single linkage that joins smallest clusters while sizes are too unequal.

    Exactly the algorithm that :class:`certune.GenieClustering` is tuned for, ties included.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters.
    g : float, default=0.3
        Threshold of the Gini index of cluster sizes, from 0 to 1; 1 is single linkage.
    metric : str or callable, default="euclidean"
        A metric of SciPy or a function of two points; ``"precomputed"`` if X is a matrix of
        distances.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, numbered in the order of their first samples.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [4.0], [5.5], [9.0]])
    >>> GenieClusterer(n_clusters=2, g=0.3).fit_predict(X).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(self, n_clusters: int = 2, g: float = 0.3, metric: Metric = "euclidean") -> None:
        self.n_clusters = n_clusters
        self.g = g
        self.metric = metric

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
            Coordinates, or distances if ``metric="precomputed"``.
        y : ignored
            Present for scikit-learn's conventions.

        Returns
        -------
        GenieClusterer
            The fitted estimator.
        """
        instance = clustering_instance(self, X)
        self.labels_ = GenieClustering().solve(instance, {"g": self.g})
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.metric)
        return tags
