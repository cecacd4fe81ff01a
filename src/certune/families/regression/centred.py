"""Data of a linear model without its intercept: weighted, and centred if there is one.

The intercept has no penalty, so that at every solution it makes the weighted mean residual zero.
Subtracting the weighted means of columns and targets takes it out of the problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.deadline import unless_stopped
from certune.families.regression.instance import RegressionInstance

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CentredData:
    """Prepared data of an instance.

    Attributes
    ----------
    instance : RegressionInstance
        The data.
    fit_intercept : bool
        Whether there is an intercept.
    """

    instance: RegressionInstance
    fit_intercept: bool

    @classmethod
    def of(cls, instance: RegressionInstance, fit_intercept: bool) -> CentredData:
        """Return the data of an instance, prepared once and kept with it."""
        if fit_intercept not in instance.prepared:
            instance.prepared[fit_intercept] = cls(instance, fit_intercept)
        found: CentredData = instance.prepared[fit_intercept]
        return found

    @cached_property
    def products(self) -> FloatArray:
        """Products of the columns with each other."""
        operations = 2.0 * self.rows.size * self.rows.shape[1]
        return np.asarray(unless_stopped(operations, np.matmul, self.rows.T, self.rows))

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the training rows."""
        given = self.instance.weights
        return np.ones(len(self.instance.y)) if given is None else np.asarray(given)

    @cached_property
    def centre(self) -> tuple[FloatArray, float]:
        """Weighted means of the columns and of the targets, zero without intercept."""
        if not self.fit_intercept:
            return np.zeros(self.instance.n_features), 0.0
        shares = self.weights / self.weights.sum()
        return shares @ self.instance.X, float(shares @ self.instance.y)

    @cached_property
    def rows(self) -> FloatArray:
        """Training rows, centred, times the square roots of their weights."""
        return self._scaled(self.instance.X - self.centre[0])

    @cached_property
    def targets(self) -> FloatArray:
        """Training targets, centred, times the square roots of their weights."""
        return self._scaled(self.instance.y - self.centre[1])

    def _scaled(self, values: FloatArray) -> FloatArray:
        if self.instance.weights is None:
            return values
        roots = np.sqrt(self.weights)
        return values * (roots[:, None] if values.ndim == 2 else roots)

    @cached_property
    def validation(self) -> tuple[FloatArray, FloatArray]:
        """Rows and targets of the validation data, centred by the training data."""
        assert self.instance.X_val is not None and self.instance.y_val is not None
        return self.instance.X_val - self.centre[0], self.instance.y_val - self.centre[1]

    @property
    def shares(self) -> FloatArray:
        """How much each judged point counts."""
        return self.instance.judged[1]

    def intercept(self, coefficients: FloatArray) -> float:
        """Return the intercept that belongs to coefficients."""
        return self.centre[1] - float(self.centre[0] @ coefficients)
