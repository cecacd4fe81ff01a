"""A fitted model: what the algorithm gives at one value of lam."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LogisticModel:
    """Coefficients of a regularised logistic regression.

    Attributes
    ----------
    lam : float
        Weight of the penalty.
    coef : ndarray of shape (p,)
        Coefficients for the columns as they were given.
    intercept : float
        The constant, 0 without an intercept or standardisation.
    classes : tuple
        The two labels; the second has the probability ``predict_proba``.
    radius : float
        Proved bound of the Euclidean distance of the coefficients, of standardised columns if
        these were asked for, to the exact ones. With the l1 penalty it holds for the active
        coefficients; the optimality conditions of the others have been checked.
    constant_columns : tuple of int
        Columns with one value throughout the training data.
    duplicate_columns : dict of int to int
        Columns that equal an earlier one up to the sign, to a shift if there is an intercept, and
        to rounding (1e-12 of the largest entry). With the l1 penalty the earlier one has the
        coefficient, since any split would be as good.
    """

    lam: float
    coef: FloatArray = field(repr=False)
    intercept: float
    classes: tuple[Any, Any]
    radius: float
    constant_columns: tuple[int, ...]
    duplicate_columns: dict[int, int]

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:
        """Return the log-odds of the second class for rows of features."""
        scores: FloatArray = np.asarray(X, dtype=np.float64) @ self.coef + self.intercept
        return scores

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the probability of the second class for rows of features."""
        chances: FloatArray = expit(self.decision_function(X))
        return chances

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the more likely class for rows of features; the first one at a tie."""
        return np.asarray(self.classes)[(self.decision_function(X) > 0.0).astype(np.intp)]
