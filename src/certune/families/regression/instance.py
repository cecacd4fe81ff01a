"""One problem of regression: training data, and validation data or leave-one-out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.checks import as_array
from certune.errors import InputError
from certune.families.rows import (
    check_split,
    checked_features,
    checked_weights,
    described,
    set_fields,
)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, init=False, repr=False, eq=False)
class RegressionInstance:
    """Data to fit a linear model, and data to judge it.

    The value is immutable: arrays are copied and read-only.

    Parameters
    ----------
    X : array-like of shape (m, p)
        Finite features of the training data.
    y : array-like of shape (m,)
        Finite targets.
    X_val : array-like of shape (m', p), optional
        Features of the validation data. Without them the model is judged by leaving out one
        training point at a time.
    y_val : array-like of shape (m',), optional
        Their targets.
    name : str, optional
        Shown in messages and reports.
    sample_weight, sample_weight_val : array-like, optional
        How much each training point counts in the fit, and each validation point in the error;
        at least 0, equal by default. Training points of weight 0 take no part.

    Attributes
    ----------
    X, y : ndarray
        Training data.
    X_val, y_val : ndarray or None
        Validation data; None for leave-one-out.
    weights, weights_val : ndarray or None
        The weights; None if all are 1.

    Raises
    ------
    InputError
        For data that are not of this form.

    Examples
    --------
    >>> RegressionInstance([[0.0], [1.0], [2.0]], [0.0, 1.1, 1.9], [[0.5]], [0.4], name="tiny")
    RegressionInstance('tiny', 3 + 1 points, 1 feature)
    """

    X: FloatArray
    y: FloatArray
    X_val: FloatArray | None
    y_val: FloatArray | None
    name: str | None
    weights: FloatArray | None
    weights_val: FloatArray | None

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        name: str | None = None,
        sample_weight: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> None:
        if (X_val is None) != (y_val is None):
            raise InputError("give both X_val and y_val, or none of them for leave-one-out")
        features = checked_features(X, "X")
        targets = _targets(y, "y", len(features))
        weights = checked_weights(sample_weight, "sample_weight", len(features))
        if weights is not None and not weights.all():
            kept = weights > 0.0
            features, targets, weights = features[kept], targets[kept], weights[kept]
        if len(features) < 2:
            raise InputError("X must have at least two rows that count, got 1 sample")
        validation = held_out = held_weights = None
        if X_val is not None and y_val is not None:
            validation = checked_features(X_val, "X_val")
            held_out = _targets(y_val, "y_val", len(validation))
            held_weights = checked_weights(sample_weight_val, "sample_weight_val", len(validation))
        elif sample_weight_val is not None:
            raise InputError("sample_weight_val needs validation data; leave-one-out has none")
        check_split(features, validation, name)
        fields = {
            "X": features,
            "y": targets,
            "X_val": validation,
            "y_val": held_out,
            "name": name,
            "weights": weights,
            "weights_val": held_weights,
        }
        set_fields(self, fields)

    @cached_property
    def prepared(self) -> dict[Any, Any]:
        """What is prepared once, with and without intercept; no part of the value."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "prepared"}

    @property
    def n_features(self) -> int:
        """Number of columns p."""
        return int(self.X.shape[1])

    @property
    def is_leave_one_out(self) -> bool:
        """Whether there are no validation data."""
        return self.X_val is None

    @cached_property
    def judged(self) -> tuple[FloatArray, FloatArray]:
        """Targets that predictions are compared with, and their shares, of sum 1."""
        targets, weights = (
            (self.y, self.weights) if self.y_val is None else (self.y_val, self.weights_val)
        )
        if weights is None:
            return targets, np.full(targets.size, 1.0 / targets.size)
        return targets, np.asarray(weights / weights.sum())

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the data; the name does not count."""
        arrays = (self.X, self.y, self.X_val, self.y_val, self.weights, self.weights_val)
        shapes = [None if array is None else array.shape for array in arrays]
        digest = hashlib.sha256(repr(shapes).encode())
        for array in arrays:
            if array is not None:
                digest.update(array.tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        points = f"{len(self.X)} points, leave-one-out"
        if self.X_val is not None:
            points = f"{len(self.X)} + {len(self.X_val)} points"
        return f"RegressionInstance({described(self.X, self.name, points)})"


def _targets(values: ArrayLike, what: str, size: int) -> FloatArray:
    array = as_array(what, values) + 0.0
    if array.shape != (size,):
        raise InputError(f"{what} must have one number for each of {size} rows, got {array.shape}")
    wrong = np.flatnonzero(~(np.abs(array) < 1e100))
    if wrong.size:
        value = array[wrong[0]]
        remedy = (
            "divide the targets by a number such as their standard deviation, for squares of them "
            "are added up"
            if np.isfinite(value)
            else "drop rows without a target"
        )
        raise InputError(f"{what} has the value {value} in row {wrong[0]}; {remedy}")
    return array
