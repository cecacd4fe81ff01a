"""One problem of classification: training and validation data.

Everything that the fit of a model sees is fixed and checked here once; numbers are taken to be
exact from this point on. The setting is that of `sec:logistic-distributional`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.checks import refuse_mask
from certune.errors import InputError
from certune.families.rows import (
    check_split,
    checked_features,
    checked_weights,
    described,
    set_fields,
)

FloatArray = NDArray[np.float64]

# A model has coefficients for each class; more labels than this are numbers or names.
MOST_CLASSES = 1000


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ClassificationInstance:
    """Data to fit a classifier, and data to judge it.

    The value is immutable: arrays are copied and read-only.

    Parameters
    ----------
    X : array-like of shape (m, p)
        Finite features of the training data.
    y : array-like of shape (m,)
        Labels, of two classes or more: numbers, strings or other sortable values.
    X_val : array-like of shape (m', p)
        Features of the validation data.
    y_val : array-like of shape (m',)
        Their labels. It may happen that all are of one class; most scores are defined then.
    name : str, optional
        Shown in messages and reports.
    sample_weight, sample_weight_val : array-like, optional
        How much each training point counts in the fit, and each validation point in the score;
        at least 0, equal by default. Training points of weight 0 take no part.

    Attributes
    ----------
    X, X_val : ndarray
        Features.
    y, y_val : ndarray of float
        Labels as -1 and 1 for two classes, as 0, 1, 2, ... for several, in the order of `classes`.
    classes : tuple
        The labels, sorted.
    weights, weights_val : ndarray of float or None
        The weights; None if all are 1.

    Raises
    ------
    InputError
        For data that are not of this form.

    Examples
    --------
    >>> ClassificationInstance([[0.0], [1.0], [2.0]], [0, 1, 1], [[0.5]], [1], name="tiny")
    ClassificationInstance('tiny', 3 + 1 points, 1 feature, classes (0, 1))
    """

    X: FloatArray
    y: FloatArray
    X_val: FloatArray
    y_val: FloatArray
    classes: tuple[Any, ...]
    name: str | None
    weights: FloatArray | None
    weights_val: FloatArray | None

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: ArrayLike,
        y_val: ArrayLike,
        name: str | None = None,
        sample_weight: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> None:
        features, validation = checked_features(X, "X"), checked_features(X_val, "X_val")
        check_split(features, validation, name)
        labels, held_out = _labels(y, "y", len(features)), _labels(y_val, "y_val", len(validation))
        weights = checked_weights(sample_weight, "sample_weight", len(features))
        if weights is not None and not weights.all():
            features, labels = features[weights > 0.0], labels[weights > 0.0]
            weights = checked_weights(weights[weights > 0.0], "sample_weight", len(labels))
        classes = _classes(labels)
        fields = {
            "X": features,
            "y": _coded(labels, classes),
            "X_val": validation,
            "y_val": _coded_validation(held_out, classes),
            "classes": classes,
            "name": name,
            "weights": weights,
            "weights_val": checked_weights(sample_weight_val, "sample_weight_val", len(validation)),
        }
        set_fields(self, fields)

    @property
    def n_classes(self) -> int:
        """Number of classes of the training data."""
        return len(self.classes)

    @property
    def codes(self) -> NDArray[np.intp]:
        """Numbers of the classes of the training points, from 0 on."""
        return _numbers(self.y, self.n_classes)

    @property
    def codes_val(self) -> NDArray[np.intp]:
        """Numbers of the classes of the validation points."""
        return _numbers(self.y_val, self.n_classes)

    def one_versus_rest(self, number: int) -> ClassificationInstance:
        """Return the problem of telling one class from all others; features are shared.

        Parameters
        ----------
        number : int
            Which class, from 0 on.
        """
        problem = object.__new__(ClassificationInstance)
        set_fields(
            problem,
            {
                "X": self.X,
                "y": np.where(self.codes == number, 1.0, -1.0),
                "X_val": self.X_val,
                "y_val": np.where(self.codes_val == number, 1.0, -1.0),
                "classes": (False, True),
                "name": self.name,
                "weights": self.weights,
                "weights_val": self.weights_val,
            },
        )
        return problem

    @property
    def n_features(self) -> int:
        """Number of columns p."""
        return int(self.X.shape[1])

    @property
    def total_weight(self) -> float:
        """Sum of the training weights: the number of training points if these count alike."""
        return float(len(self.X)) if self.weights is None else float(self.weights.sum())

    @cached_property
    def validation_shares(self) -> FloatArray:
        """How much each validation point counts; the sum is 1 up to rounding."""
        if self.weights_val is None:
            return np.full(len(self.X_val), 1.0 / len(self.X_val))
        return np.asarray(self.weights_val / self.weights_val.sum())

    @property
    def exact_validation_weights(self) -> list[Fraction]:
        """Weights of the validation points, as the fractions that these floats are."""
        if self.weights_val is None:
            return [Fraction(1)] * len(self.X_val)
        return [Fraction(weight) for weight in self.weights_val.tolist()]

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the data; the name does not count."""
        digest = hashlib.sha256(repr((self.X.shape, self.X_val.shape, self.classes)).encode())
        for array in (self.X, self.y, self.X_val, self.y_val):
            digest.update(array.tobytes())
        for what, weights in (("weights", self.weights), ("weights_val", self.weights_val)):
            if weights is not None:
                digest.update(what.encode() + weights.tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        points = f"{len(self.X)} + {len(self.X_val)} points"
        shared = described(self.X, self.name, points)
        return f"ClassificationInstance({shared}, classes {self.classes})"


def _labels(values: ArrayLike, what: str, size: int) -> NDArray[Any]:
    refuse_mask(what, values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{what} must be a list of labels: {error}") from None
    if array.shape != (size,):
        raise InputError(f"{what} must have one label for each of {size} rows, got {array.shape}")
    missing = array.dtype.kind == "f" and not np.isfinite(array).all()
    if missing or (array.dtype.kind in "mM" and np.isnat(array).any()):
        raise InputError(f"{what} has labels that are not finite; drop these rows")
    return array


def _classes(labels: NDArray[Any]) -> tuple[Any, ...]:
    try:
        found = np.unique(labels).tolist()
    except TypeError as error:
        raise InputError(f"y must have sortable labels: {error}") from error
    if len(found) < 2:
        raise InputError(
            f"y must have at least two classes, got only {found[0]!r}; there is nothing to tell "
            "apart in one"
        )
    if len(found) > 2 and labels.dtype.kind == "f" and (labels != np.rint(labels)).any():
        raise InputError(
            f"y must be classes, got numbers with fractions such as {found[0]!r} and {found[1]!r}: "
            "for a target that is a number use certune.RegressionInstance"
        )
    if len(found) > MOST_CLASSES:
        raise InputError(
            f"y must have at most {MOST_CLASSES} classes, got {len(found)}; a model of regression "
            "is for numbers, see certune.RegressionInstance"
        )
    return tuple(found)


def _coded(labels: NDArray[Any], classes: tuple[Any, ...]) -> FloatArray:
    if len(classes) == 2:
        return np.where(labels == classes[1], 1.0, -1.0)
    return np.searchsorted(np.asarray(classes), labels).astype(np.float64)


def _coded_validation(labels: NDArray[Any], classes: tuple[Any, ...]) -> FloatArray:
    known = np.isin(labels, np.asarray(classes))
    if not known.all():
        raise InputError(
            f"y_val has the label {labels[~known][0]!r}, which is not among the classes "
            f"{classes} of the training data"
        )
    return _coded(labels, classes)


def _numbers(coded: FloatArray, n_classes: int) -> NDArray[np.intp]:
    if n_classes == 2:
        return (coded > 0.0).astype(np.intp)
    return coded.astype(np.intp)
