"""From an instance to the numbers that the solvers work on.

Columns may be standardised; an intercept is one more column without penalty. Rows are multiplied
by their labels, so that the margin of a point is the scalar product of its row and the
coefficients, positive where the prediction is right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune.families.logistic.instance import ClassificationInstance

FloatArray = npt.NDArray[np.float64]

# Columns that differ by less than this, relative to their largest entry, are the same; rounding
# makes such differences when columns are standardised.
ROUNDING = 1e-12
# Below this cosine, columns of up to a million rows differ by more than that.
NEARLY_PARALLEL = 1.0 - 1e-10


class Columns(NamedTuple):
    """What is special about columns.

    Attributes
    ----------
    constant : tuple of int
        Columns with one value throughout.
    duplicates : dict of int to int
        Columns that equal an earlier one up to the sign, to a shift if there is an intercept, and
        to rounding, with that one.
    """

    constant: tuple[int, ...]
    duplicates: dict[int, int]


@dataclass(frozen=True)
class TrainingData:
    """Prepared data of an instance.

    Attributes
    ----------
    instance : ClassificationInstance
        The data.
    fit_intercept, standardize : bool
        See :class:`certune.RegularizedLogistic`.
    """

    instance: ClassificationInstance
    fit_intercept: bool
    standardize: bool

    @cached_property
    def scale(self) -> tuple[FloatArray, FloatArray]:
        """Means and standard deviations of the training columns; (0, 1) if not standardised.

        A constant column has the deviation 1, as in scikit-learn's StandardScaler.
        """
        if not self.standardize:
            return np.zeros(self.instance.n_features), np.ones(self.instance.n_features)
        centre, spread = self.instance.X.mean(axis=0), self.instance.X.std(axis=0)
        constant = (self.instance.X == self.instance.X[0]).all(axis=0)
        return np.where(constant, self.instance.X[0], centre), np.where(constant, 1.0, spread)

    def rows(self, X: FloatArray, signs: FloatArray) -> FloatArray:
        """Return rows y_i (x_i, 1), without the last column if there is no intercept."""
        centre, spread = self.scale
        scaled = (X - centre) / spread
        if self.fit_intercept:
            scaled = np.column_stack((scaled, np.ones(len(scaled))))
        return np.ascontiguousarray(scaled * signs[:, None])

    @cached_property
    def design(self) -> FloatArray:
        """Rows of the training data."""
        return self.rows(self.instance.X, self.instance.y)

    @cached_property
    def validation(self) -> FloatArray:
        """Rows of the validation data."""
        return self.rows(self.instance.X_val, self.instance.y_val)

    @cached_property
    def columns(self) -> Columns:
        """Constant and duplicate columns of the training data."""
        features = self.design[:, : self.instance.n_features] * self.instance.y[:, None]
        constant = np.flatnonzero((features == features[0]).all(axis=0))
        if self.fit_intercept:
            # The intercept, which has no penalty, makes up for a shift.
            features = features - features.mean(axis=0)
            features[:, constant] = 0.0
        norms = np.sqrt((features**2).sum(axis=0))
        units = features / np.where(norms > 0.0, norms, 1.0)
        cosines = units.T @ units
        duplicates: dict[int, int] = {}
        for first, column in np.argwhere(np.triu(np.abs(cosines) > NEARLY_PARALLEL, 1)).tolist():
            sign = np.copysign(1.0, cosines[first, column])
            difference = np.abs(features[:, column] - sign * features[:, first]).max()
            is_same = difference <= ROUNDING * np.abs(features[:, first]).max()
            if is_same and first not in duplicates:
                duplicates.setdefault(column, first)
        return Columns(tuple(constant.tolist()), duplicates)

    @cached_property
    def kept(self) -> npt.NDArray[np.intp]:
        """Columns of the design without duplicates, the intercept included."""
        dropped = list(self.columns.duplicates)
        return np.setdiff1d(np.arange(self.design.shape[1]), dropped)

    def original(self, coefficients: FloatArray) -> tuple[FloatArray, float]:
        """Return coefficients and intercept for the columns as they were given."""
        centre, spread = self.scale
        slopes = coefficients[: self.instance.n_features] / spread
        constant = float(coefficients[-1]) if self.fit_intercept else 0.0
        return slopes, constant - float(slopes @ centre)
