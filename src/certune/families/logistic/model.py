"""A fitted model: what the algorithm gives at one value of lam."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from certune.errors import InputError
from certune.families.logistic.training import CentredCoefficients

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LogisticModel:
    """Coefficients of a regularised logistic regression.

    Attributes
    ----------
    lam : float
        Weight of the penalty.
    function : CentredCoefficients
        The log-odds of the second class as a linear function of the columns as they were given.
    classes : tuple
        The two labels; the second has the probability ``predict_proba``.
    radius : float
        Proved bound of the Euclidean distance of the coefficients to the exact ones, for columns
        that are scaled to about unit size. With the l1 penalty it holds for the active
        coefficients; the optimality conditions of the others have been checked.
    constant_columns : tuple of int
        Columns with one value throughout the training data.
    duplicate_columns : dict of int to int
        Columns that equal an earlier one up to the sign, to a shift if there is an intercept, and
        to rounding (1e-12 of the largest entry). With the l1 penalty the earlier one has the
        coefficient, since any split would be as good.
    """

    lam: float
    function: CentredCoefficients = field(repr=False)
    classes: tuple[Any, Any]
    radius: float
    constant_columns: tuple[int, ...]
    duplicate_columns: dict[int, int]

    @property
    def coef(self) -> FloatArray:
        """Coefficients for the columns as they were given."""
        return self.function.slopes

    @property
    def intercept(self) -> float:
        """The constant, 0 without an intercept or standardisation."""
        return self.function.intercept

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:
        """Return the log-odds of the second class for rows of features."""
        rows, n_features = np.asarray(X, dtype=np.float64), self.coef.size
        if rows.ndim != 2 or rows.shape[1] != n_features:
            raise InputError(
                f"X must be a table of {n_features} columns, got the shape {rows.shape}"
            )
        return self.function(rows)

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the probability of the second class for rows of features."""
        chances: FloatArray = expit(self.decision_function(X))
        return chances

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the more likely class for rows of features; the first one at a tie."""
        return np.asarray(self.classes)[(self.decision_function(X) > 0.0).astype(np.intp)]
