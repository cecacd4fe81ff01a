"""From an instance to the numbers that the solvers work on.

Columns may be standardised; an intercept is one more column without penalty. Rows are multiplied
by their labels, so that the margin of a point is the scalar product of its row and the
coefficients, positive where the prediction is right.

Solvers see neither huge columns nor ones that are almost constant: a column far away from zero is
shifted if there is an intercept to make up for it, and every column is scaled by a power of two.
Both are done without rounding, so that the solution is that of the data as they were given; the
penalty of a column is weighted accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune.families.logistic.instance import ClassificationInstance

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# Columns that differ by less than this, relative to their largest entry, are the same; rounding
# makes such differences when columns are standardised.
ROUNDING = 1e-12
# Below this cosine, columns of up to a million rows differ by more than that.
NEARLY_PARALLEL = 1.0 - 1e-10
# A column is shifted if its mean exceeds its standard deviation by this factor.
FAR_FROM_ZERO = 4.0
# Largest exponent of a scale; columns are below 1e100.
LARGEST = 330
EPSILON = float(np.finfo(np.float64).eps)


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


class Coordinates(NamedTuple):
    """Exact shifts and scales: the solvers see ``(x - shifts) * scales`` in each column.

    Attributes
    ----------
    shifts : ndarray of shape (p,)
        Zero but for columns far from zero.
    scales : ndarray of shape (p,)
        Powers of two.
    """

    shifts: FloatArray
    scales: FloatArray


class CentredCoefficients(NamedTuple):
    """A linear function ``level + slopes . (x - middle)``.

    Attributes
    ----------
    slopes : ndarray of shape (p,)
        Its coefficients.
    middle : ndarray of shape (p,)
        A point, close to the data where these are far from zero.
    level : float
        The value there.
    """

    slopes: FloatArray
    middle: FloatArray
    level: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the values for rows of features."""
        values: FloatArray = (X - self.middle) @ self.slopes + self.level
        return values

    @property
    def intercept(self) -> float:
        """The value at zero."""
        return self.level - float(self.slopes @ self.middle)


@dataclass(frozen=True)
class TrainingData:
    """Prepared data of an instance.

    Attributes
    ----------
    instance : ClassificationInstance
        The data.
    penalty : {"l1", "l2"}
        The penalty.
    fit_intercept, standardize : bool
        See :class:`certune.RegularizedLogistic`.
    """

    instance: ClassificationInstance
    penalty: str
    fit_intercept: bool
    standardize: bool

    @cached_property
    def scale(self) -> tuple[FloatArray, FloatArray]:
        """Means and standard deviations of the training columns; (0, 1) if not standardised.

        A column that is constant up to rounding has the deviation 1, as in scikit-learn's
        StandardScaler.
        """
        if not self.standardize:
            return np.zeros(self.instance.n_features), np.ones(self.instance.n_features)
        X, constant = self.instance.X, self._is_constant
        return np.where(constant, X[0], X.mean(axis=0)), np.where(constant, 1.0, X.std(axis=0))

    @cached_property
    def _is_constant(self) -> npt.NDArray[np.bool_]:
        """Which columns are constant; if they are standardised, up to rounding."""
        X = self.instance.X
        exactly: npt.NDArray[np.bool_] = (X == X[0]).all(axis=0)
        if not self.standardize:
            return exactly
        mean, variance = X.mean(axis=0), X.var(axis=0)
        noise = len(X) * EPSILON * variance + (len(X) * EPSILON * mean) ** 2
        return np.asarray(exactly | (variance <= noise))

    @cached_property
    def features(self) -> FloatArray:
        """Training columns, standardised if that was asked for."""
        return self._scaled(self.instance.X)

    def _scaled(self, X: FloatArray) -> FloatArray:
        centre, spread = self.scale
        scaled: FloatArray = (X - centre) / spread
        if self.standardize:
            scaled[:, self._is_constant] = 0.0
        return scaled

    @cached_property
    def columns(self) -> Columns:
        """Constant and duplicate columns of the training data."""
        features = self.features
        constant = np.flatnonzero(self._is_constant)
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
    def kept(self) -> IndexArray:
        """Features whose coefficients are not zero for a simple reason.

        That is the case for a column of zeros, for a constant one beside an intercept, and with
        the l1 penalty for duplicates, of which the first has the coefficient.
        """
        constant, duplicates = self.columns
        zero = [j for j in constant if self.fit_intercept or self.features[0, j] == 0.0]
        if self.penalty == "l2" and not self.fit_intercept and len(zero) == len(self.features[0]):
            zero.pop()  # a Hessian has one row at least; the penalty keeps the coefficient at 0
        dropped = [*zero, *duplicates] if self.penalty == "l1" else zero
        return np.setdiff1d(np.arange(self.instance.n_features), dropped)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Shifts and scales of the kept features.

        With more features than rows and the l2 penalty all scales are equal, as the solution is
        then looked for in the space of the rows.
        """
        features = self.features[:, self.kept]
        shifts = np.zeros(self.kept.size)
        if self.fit_intercept:
            means, spreads = features.mean(axis=0), features.std(axis=0)
            far = np.abs(means) > FAR_FROM_ZERO * spreads
            shifts = np.where(far & _is_exact_difference(features, means), means, 0.0)
        sizes = np.sqrt(((features - shifts) ** 2).mean(axis=0))
        if self.penalty == "l2" and self.kept.size > len(features):
            sizes = np.full(sizes.size, float(np.sqrt((sizes**2).mean())))
        usable = (sizes > 0.0) & np.isfinite(sizes)
        exponents = np.round(-np.log2(np.where(usable, sizes, 1.0)))
        return Coordinates(shifts, np.exp2(np.clip(exponents, -LARGEST, LARGEST)))

    @property
    def penalties(self) -> FloatArray:
        """By what lam is multiplied for each kept feature (l2: squared)."""
        return self.coordinates.scales

    def rows(self, X: FloatArray, signs: FloatArray) -> FloatArray:
        """Return rows y_i (x_i, 1) of the kept features, as the solvers see them."""
        shifts, scales = self.coordinates
        return self._signed((self._scaled(X)[:, self.kept] - shifts) * scales, signs)

    def plain_rows(self, X: FloatArray, signs: FloatArray) -> FloatArray:
        """Return rows y_i (x_i, 1) of all features, without shifts and scales."""
        return self._signed(self._scaled(X), signs)

    def _signed(self, columns: FloatArray, signs: FloatArray) -> FloatArray:
        if self.fit_intercept:
            columns = np.column_stack((columns, np.ones(len(columns))))
        return np.ascontiguousarray(columns * signs[:, None])

    @cached_property
    def design(self) -> FloatArray:
        """Rows of the training data."""
        return self.rows(self.instance.X, self.instance.y)

    @cached_property
    def row_weights(self) -> FloatArray | None:
        """Weights of the training rows, of mean 1; None if they are equal."""
        weights = self.instance.weights
        if weights is None or (weights == weights[0]).all():
            return None
        return np.asarray(weights / weights.mean())

    @cached_property
    def validation(self) -> FloatArray:
        """Rows of the validation data."""
        return self.rows(self.instance.X_val, self.instance.y_val)

    def centred(self, coefficients: FloatArray) -> CentredCoefficients:
        """Return what solvers' coefficients mean for the columns as they were given."""
        shifts, scales = self.coordinates
        centre, spread = self.scale
        slopes, middle = np.zeros(self.instance.n_features), centre.copy()
        slopes[self.kept] = scales * coefficients[: self.kept.size]
        middle[self.kept] += shifts * spread[self.kept]
        level = float(coefficients[-1]) if self.fit_intercept else 0.0
        return CentredCoefficients(slopes / spread, middle, level)

    def plain(self, coefficients: FloatArray) -> FloatArray:
        """Return coefficients for all features without shifts and scales, the intercept last."""
        shifts, scales = self.coordinates
        slopes = np.zeros(self.instance.n_features)
        slopes[self.kept] = scales * coefficients[: self.kept.size]
        if not self.fit_intercept:
            return slopes
        return np.append(slopes, coefficients[-1] - slopes[self.kept] @ shifts)


def _is_exact_difference(values: FloatArray, shifts: FloatArray) -> npt.NDArray[np.bool_]:
    """Tell for each column whether a shift can be subtracted from it without rounding."""
    difference = values - shifts
    subtracted = values - difference
    lost = (values - (difference + subtracted)) + (subtracted - shifts)
    return np.asarray((lost == 0.0).all(axis=0))
