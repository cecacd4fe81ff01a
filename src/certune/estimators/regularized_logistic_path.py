"""Logistic regression for every lam at once, behind scikit-learn's interface."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from certune.errors import InputError, ParameterError
from certune.families.logistic import ClassificationInstance
from certune.families.logistic.panels import Quantity
from certune.families.logistic.path import CoefficientPath, coefficient_path, solution_at
from certune.families.logistic.training import CentredCoefficients, TrainingData

FloatArray = npt.NDArray[np.float64]

# Aims for the errors of coefficients, for columns scaled to about unit size.
PATH_TARGET = 1e-8
SOLUTION_TARGET = 1e-12


class RegularizedLogisticPath(ClassifierMixin, BaseEstimator):
    """Regularised logistic regression with its whole path of coefficients.

    Minimises the mean loss plus lam times the penalty. A model at `lam` is used for predictions,
    and `coefficients_at`, `decision_function` and `predict_proba` accept any other value of the
    range.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        Sum of squared, or of absolute, coefficients.
    lam : float, default=0.01
        Weight of the penalty for `predict`; scikit-learn's C is 1 / (2 m lam) with l2 and
        1 / (m lam) with l1, for m samples.
    lam_range : tuple of float, default=(1e-3, 10.0)
        Range of the path.
    fit_intercept : bool, default=True
        Whether there is an intercept, which has no penalty.
    standardize : bool, default=False
        Whether columns are scaled to mean 0 and variance 1 before the fit.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    coef_ : ndarray of shape (1, n_features)
        Coefficients at `lam`.
    intercept_ : ndarray of shape (1,)
        Intercept at `lam`.
    lambdas_ : ndarray of shape (n_knots,)
        Ends of the pieces of the path, increasing; with the l1 penalty coefficients enter and
        leave there.
    coefs_ : ndarray of shape (n_knots, n_features)
        Coefficients at `lambdas_`.
    intercepts_ : ndarray of shape (n_knots,)
        Intercepts at `lambdas_`.
    path_error_ : float
        Stated error of coefficients along the path, for columns scaled to about unit size.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = RegularizedLogisticPath("l1", lam=0.02, standardize=True).fit(X, y)
    >>> int((model.coef_ != 0).sum()), int((model.coefficients_at(0.1)[0] != 0).sum())
    (7, 4)
    """

    def __init__(
        self,
        penalty: str = "l2",
        lam: float = 0.01,
        lam_range: tuple[float, float] = (1e-3, 10.0),
        fit_intercept: bool = True,
        standardize: bool = False,
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.lam_range = lam_range
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model at `lam` and the path over `lam_range`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        RegularizedLogisticPath
            The fitted estimator.
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if self.classes_.size != 2:
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"multiclass or constant: y has {self.classes_.size} "
                f"class{'' if self.classes_.size == 1 else 'es'}, expected two."
            )
        instance = ClassificationInstance(X, y, X[:1], y[:1])
        self._data = TrainingData(
            instance, self.penalty, bool(self.fit_intercept), bool(self.standardize)
        )
        quantity = Quantity(lambda b: b, 1.0)
        self._path: CoefficientPath = coefficient_path(
            self._data, *self.lam_range, quantity, PATH_TARGET
        )
        solution = solution_at(self._data, float(self.lam), SOLUTION_TARGET)
        self._function = self._data.centred(solution.coefficients)
        self.coef_ = self._function.slopes[None]
        self.intercept_ = np.array([self._function.intercept])
        self.lambdas_ = np.append(self._path.starts, self._path.stops[-1])
        rows = [self.coefficients_at(lam) for lam in self.lambdas_.tolist()]
        self.coefs_ = np.array([row[0] for row in rows])
        self.intercepts_ = np.array([row[1] for row in rows])
        self.path_error_ = max(piece.error for piece in self._path.pieces)
        return self

    def coefficients_at(self, lam: float) -> tuple[FloatArray, float]:
        """Return coefficients and intercept at any lam of the range.

        Parameters
        ----------
        lam : float
            The weight of the penalty, within `lam_range`.
        """
        check_is_fitted(self)
        function = self._function_at(lam)
        return function.slopes, function.intercept

    def _function_at(self, lam: float) -> CentredCoefficients:
        if not isinstance(lam, numbers.Real):
            raise ParameterError(f"lam must be a number of the fitted lam_range, got {lam!r}.")
        return self._data.centred(self._path.at(float(lam)))

    def decision_function(self, X: Any, lam: float | None = None) -> FloatArray:
        """Return the log-odds of the second class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        lam : float, optional
            The weight of the penalty, within `lam_range`; by default `lam`.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        function = self._function if lam is None else self._function_at(lam)
        return function(X)

    def predict_proba(self, X: Any, lam: float | None = None) -> FloatArray:
        """Return the probabilities of both classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        lam : float, optional
            The weight of the penalty, within `lam_range`; by default `lam`.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            One column for each of `classes_`.
        """
        second = expit(self.decision_function(X, lam))
        return np.column_stack((1.0 - second, second))

    def predict(self, X: Any, lam: float | None = None) -> npt.NDArray[Any]:
        """Return the more likely class of each row, the first one at a tie.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        lam : float, optional
            The weight of the penalty, within `lam_range`; by default `lam`.
        """
        positive = self.decision_function(X, lam) > 0.0
        labels: npt.NDArray[Any] = self.classes_[positive.astype(np.intp)]
        return labels

    def _check_parameters(self) -> None:
        if not isinstance(self.penalty, str) or self.penalty not in ("l1", "l2"):
            raise ParameterError(f"penalty must be 'l1' or 'l2', got {self.penalty!r}.")
        ends = self.lam_range
        is_pair = isinstance(ends, (tuple, list)) and len(ends) == 2
        if not is_pair or not all(isinstance(end, numbers.Real) for end in ends):
            raise ParameterError(f"lam_range must be two numbers 0 < low < high, got {ends!r}.")
        if not 0 < ends[0] < ends[1] < np.inf:
            raise ParameterError(f"lam_range must be finite with 0 < low < high, got {ends!r}.")
        is_number = isinstance(self.lam, numbers.Real) and not isinstance(self.lam, bool)
        if not is_number or not 0 < self.lam < np.inf:
            raise ParameterError(f"lam must be a positive number, got {self.lam!r}.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
