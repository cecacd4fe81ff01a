"""A fitted linear model: what the algorithm gives at one alpha."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from certune.errors import InputError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LinearModel:
    """Coefficients of a regularised linear regression.

    Attributes
    ----------
    alpha : float
        Weight of the penalty, as in scikit-learn.
    coef : ndarray
        Coefficients.
    intercept : float
        The constant, 0 without an intercept.
    """

    alpha: float
    coef: FloatArray
    intercept: float

    def predict(self, X: npt.ArrayLike) -> FloatArray:
        """Return predictions for rows of features."""
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.coef.size:
            raise InputError(
                f"X must be a table of {self.coef.size} columns, got the shape {rows.shape}"
            )
        return np.asarray(rows @ self.coef + self.intercept)
