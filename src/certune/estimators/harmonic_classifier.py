"""The harmonic method at one bandwidth, as a scikit-learn estimator.

This is where a tuned bandwidth is put to use.  The conventions are those of
:mod:`sklearn.semi_supervised`: the label -1 marks samples without one.  Unlike there, soft labels
are the exact harmonic functions at every bandwidth, not what an iteration has reached.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from certune.errors import InputError, ParameterError
from certune.families.graph_ssl import HarmonicLabeling, LabelingInstance
from certune.families.metrics import Metric, checked_metrics, distances_between

FloatArray: TypeAlias = npt.NDArray[np.float64]


class HarmonicClassifier(ClassifierMixin, BaseEstimator):
    """Semi-supervised classification with harmonic functions on a similarity graph.

    Parameters
    ----------
    sigma : float, optional
        Bandwidth: an edge has the weight exp(-distance / sigma^2). By default its square is the
        median distance.
    metric : str, callable or list of them, default="sqeuclidean"
        One or several metrics, names of SciPy or functions of two points; ``"precomputed"`` if X
        is a matrix of distances.
    weights : sequence of float, optional
        Weights of several metrics; equal by default.
    n_neighbors : int, optional
        Join each sample to this many nearest ones only; all by default.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, without -1.
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Soft labels of the samples.
    transduction_ : ndarray of shape (n_samples,)
        Label of each sample, the given ones included.
    sigma_ : float
        The bandwidth that was used.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    A new sample gets the mean of the soft labels of the fitted ones (of its `n_neighbors` nearest
    ones), weighted like edges. Samples that no label can reach have uniform soft labels.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [6.0], [7.0]])
    >>> model = HarmonicClassifier(sigma=1.5).fit(X, [0, -1, -1, -1, 1])
    >>> model.transduction_
    array([0, 0, 0, 1, 1])
    >>> model.predict([[5.0]])
    array([1])
    """

    def __init__(
        self,
        sigma: float | None = None,
        metric: Metric | Sequence[Metric] = "sqeuclidean",
        weights: Sequence[float] | None = None,
        n_neighbors: int | None = None,
    ) -> None:
        self.sigma = sigma
        self.metric = metric
        self.weights = weights
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any) -> Self:
        """Label the samples that have no label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
            Coordinates, or distances if ``metric="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels; -1 for samples without one.

        Returns
        -------
        HarmonicClassifier
            The fitted estimator.
        """
        points, given = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        if len({isinstance(label, str) for label in given.tolist()}) > 1:
            raise InputError(
                "y mixes strings and numbers, got "
                f"{', '.join(repr(label) for label in given.tolist()[:4])}; code labels as "
                "integers, for example with sklearn.preprocessing.LabelEncoder, and mark samples "
                "without one by -1"
            )
        if "-1" in given.tolist():
            raise InputError(
                "y has the string '-1' as a label; samples without a label are marked by the "
                "number -1, so that the other labels must be numbers too: code them as integers"
            )
        check_classification_targets(given)
        labeled = np.flatnonzero(np.asarray(given != -1))
        if labeled.size == 0:
            raise InputError(
                "y has no label: every entry is -1, which marks samples without one; label at "
                "least one sample"
            )
        instance = self._instance(points, labeled, given[labeled])
        sigma = 1.0 if self.sigma is None else self.sigma
        family = HarmonicLabeling(
            sigma=_fixed(sigma), weights=self.weights, n_neighbors=self.n_neighbors
        )
        params: dict[str, Any] = {}
        if self.sigma is None:
            params = dict(family.instance_baselines(instance)["median distance"])
        labeling = family.solve(instance, params)
        self.sigma_ = float(params.get("sigma", sigma))
        self.classes_ = labeling.classes
        self.label_distributions_ = labeling.soft
        self.transduction_ = labeling.labels
        self._fitted_points = points
        self._neighbors = family.n_neighbors
        self._shares = family.weights or (1.0 / instance.n_metrics,) * instance.n_metrics
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Soft labels of new samples.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or (n_queries, n_samples)
            Coordinates, or distances to the fitted samples if ``metric="precomputed"``.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Rows sum to 1.
        """
        check_is_fitted(self)
        points = validate_data(self, X, dtype=np.float64, reset=False)
        if self._is_precomputed:
            distances = points
            if (points < 0).any():
                raise InputError(
                    f"distances to the fitted samples must be non-negative, got {points.min()}: "
                    "pass distances, not similarities"
                )
        else:
            distances = np.zeros((len(points), len(self._fitted_points)))
            for share, metric in zip(self._shares, self._metrics, strict=True):
                distances += share * distances_between(points, self._fitted_points, metric)
        if not np.isfinite(distances).all():
            row = int(np.argmin(np.isfinite(distances).all(axis=1)))
            raise InputError(
                f"the distances of sample {row} to the fitted ones are not finite: leave it out, "
                "or change the unit of its features"
            )
        with np.errstate(over="ignore"):
            exponents = -(distances - distances.min(axis=1, keepdims=True)) / self.sigma_**2
        if self._neighbors is not None:
            nearest = np.partition(distances, self._neighbors - 1, axis=1)
            exponents[distances > nearest[:, self._neighbors - 1 : self._neighbors]] = -np.inf
        votes = np.exp(exponents)
        soft: FloatArray = (votes / votes.sum(axis=1, keepdims=True)) @ self.label_distributions_
        return np.asarray(soft / soft.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Labels of new samples.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), or (n_queries, n_samples)
            Coordinates, or distances to the fitted samples if ``metric="precomputed"``.

        Returns
        -------
        ndarray of shape (n_queries,)
            The class with the largest soft label. Ties go to the second of two classes, as in
            ``transduction_``, and to the lowest of more.
        """
        soft = self.predict_proba(X)
        two = soft.shape[1] == 2
        best = (soft[:, 1] >= soft[:, 0]).astype(int) if two else np.argmax(soft, axis=1)
        labels: npt.NDArray[Any] = self.classes_[best]
        return labels

    def _instance(
        self, points: FloatArray, labeled: npt.NDArray[np.intp], labels: npt.NDArray[Any]
    ) -> LabelingInstance:
        if not self._is_precomputed:
            return LabelingInstance(
                points=points, metrics=self._metrics, labeled=labeled, labels=labels
            )
        if points.shape[0] != points.shape[1]:
            raise InputError(
                "With metric='precomputed' X must be a square matrix of distances, got the shape "
                f"{points.shape}; pass coordinates with another metric."
            )
        return LabelingInstance(distances=points, labeled=labeled, labels=labels)

    @property
    def _metrics(self) -> tuple[Metric, ...]:
        return checked_metrics(self.metric)

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def _fixed(sigma: Any) -> float:
    """Return the bandwidth; a pair would mean a range to the family."""
    number = float(sigma) if isinstance(sigma, numbers.Real) else -1.0
    if isinstance(sigma, bool) or not number > 0:
        raise ParameterError(
            "The 'sigma' parameter of HarmonicClassifier must be a positive number or None. "
            f"Got {sigma!r} instead."
        )
    return number
