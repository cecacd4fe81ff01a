"""Linkage clustering at one setting, as a scikit-learn estimator.

This is where a tuned parameter is put to use: the estimator runs exactly the algorithm that the
family has been tuned for, ties included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin

from certune.checks import as_float_or_nan
from certune.errors import ParameterError
from certune.estimators.clustering import Metric, clustering_instance, is_precomputed
from certune.families.linkage import ClusterTree, Linkage, ThresholdLinkage


class LinkageClustering(ClusterMixin, BaseEstimator):
    """Agglomerative clustering with a parameterised linkage and an optimal pruning.

    The two nearest clusters are joined again and again, and the tree is pruned to the
    `n_clusters` clusters that minimise an objective. Unlike in
    :class:`sklearn.cluster.AgglomerativeClustering` these need not be the last ones to be joined,
    except with ``objective="cut"``: then single, average, complete and Ward linkage are equal to
    scikit-learn's, up to ties.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of clusters; None if the tree is cut at a height.
    kind : {"power-mean", "min-max", "product", "energy"}, default="power-mean"
        How the distance of two clusters follows from the distances of their points, see
        :class:`certune.Linkage`.
    alpha : float or sequence of float, default=1.0
        Exponent of the linkage. For power-mean linkage -inf, 1 and inf are single, average and
        complete linkage; energy linkage with 2 is Ward's method. Product linkage needs one
        exponent for each metric.
    metric : str, callable or list of them, default="euclidean"
        One or several metrics, names of SciPy or functions of two points; ``"precomputed"`` if X
        is a matrix of distances.
    weights : sequence of float, optional
        Weights of several metrics; equal by default. Product linkage has none.
    objective : {"k-median", "k-means", "k-center", "cut"}, default="k-median"
        What the pruning minimises; ``"cut"`` undoes the last merges instead.
    cut_height : float, optional
        Merges at or above this height are undone, like ``distance_threshold`` in scikit-learn; with
        ``n_clusters=None`` and ``objective="cut"``, not for product linkage.
    relative : bool, default=False
        Whether `cut_height` is a share of the height of the last merge.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each sample, numbered in the order of their first samples.
    n_clusters_ : int
        Number of clusters.
    children_ : ndarray of shape (n_samples - 1, 2)
        The two nodes that each merge joins; nodes below n_samples are samples, and node
        n_samples + i is the result of merge i.
    distances_ : ndarray of shape (n_samples - 1,)
        Linkage distance of each merge.
    linkage_matrix_ : ndarray of shape (n_samples - 1, 4)
        The tree for :func:`scipy.cluster.hierarchy.dendrogram`.
    n_leaves_ : int
        Number of samples.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [1.0, 4.0], [9.0, 2.0], [9.0, 4.0]])
    >>> LinkageClustering(n_clusters=2, alpha=-2.5).fit_predict(X).tolist()
    [0, 0, 1, 1]
    >>> ward = LinkageClustering(n_clusters=2, kind="energy", alpha=2.0, objective="cut")
    >>> ward.fit_predict(X).tolist()
    [0, 0, 1, 1]
    >>> LinkageClustering(None, alpha=1.0, objective="cut", cut_height=1.5).fit_predict(X).tolist()
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        n_clusters: int | None = 2,
        kind: str = "power-mean",
        alpha: float | Sequence[float] = 1.0,
        metric: Metric | Sequence[Metric] = "euclidean",
        weights: Sequence[float] | None = None,
        objective: str = "k-median",
        cut_height: float | None = None,
        relative: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.kind = kind
        self.alpha = alpha
        self.metric = metric
        self.weights = weights
        self.objective = objective
        self.cut_height = cut_height
        self.relative = relative

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
        LinkageClustering
            The fitted estimator.
        """
        tree = self._tree_below_height(X) if self.cut_height is not None else self._tree(X)
        self.labels_ = tree.labels
        self.n_clusters_ = int(tree.labels.max()) + 1
        self.children_ = tree.children
        self.distances_ = tree.heights
        self.linkage_matrix_ = tree.linkage_matrix
        self.n_leaves_ = tree.n_points
        return self

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> npt.NDArray[np.int64]:
        """Cluster the samples and return their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
            Coordinates, or distances if ``metric="precomputed"``.
        y : ignored
            Present for scikit-learn's conventions.
        **kwargs : dict
            Passed to `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Cluster of each sample.
        """
        labels: npt.NDArray[np.int64] = super().fit_predict(X, y, **kwargs)
        return labels

    def _tree(self, X: Any) -> ClusterTree:
        if self.n_clusters is None:
            raise ParameterError(
                "LinkageClustering needs n_clusters, or n_clusters=None with a cut_height."
            )
        instance = clustering_instance(self, X)
        family = Linkage(
            self.kind, alpha=self._fixed_alpha(), weights=self.weights, objective=self.objective
        )
        return family.solve(instance, {})

    def _tree_below_height(self, X: Any) -> ClusterTree:
        if self.n_clusters is not None or self.objective != "cut":
            raise ParameterError(
                "With a cut_height LinkageClustering needs n_clusters=None and objective='cut'. "
                f"Got n_clusters={self.n_clusters!r} and objective={self.objective!r} instead."
            )
        alpha = self._fixed_alpha()
        family = ThresholdLinkage(self.kind, alpha, (0.0, 1.0), self.relative, self.weights)
        setting = {"cut_height": self.cut_height}
        return family.solve(clustering_instance(self, X, any_number=True), setting)

    def _fixed_alpha(self) -> Any:
        """Return the exponent or exponents; a pair would mean a range to the family."""
        if self.kind == "product":
            given = self.alpha
            exponents = [as_float_or_nan(entry) for entry in given] if np.iterable(given) else []
            if not exponents or any(map(math.isnan, exponents)):
                raise ParameterError(
                    "With kind='product' alpha must be one exponent for each metric. "
                    f"Got {self.alpha!r} instead."
                )
            return exponents
        exponent = as_float_or_nan(self.alpha)
        if math.isnan(exponent):
            raise ParameterError(
                "The 'alpha' parameter of LinkageClustering must be a number, -inf for single and "
                f"inf for complete linkage. Got {self.alpha!r} instead."
            )
        return exponent

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.metric)
        return tags
