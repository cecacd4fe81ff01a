"""A fitted model: what the algorithm gives at one value of lam."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

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
        return self.function(checked_rows(X, self.coef.size))

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the probability of the second class for rows of features."""
        chances: FloatArray = expit(self.decision_function(X))
        return chances

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the more likely class for rows of features; the first one at a tie."""
        return np.asarray(self.classes)[(self.decision_function(X) > 0.0).astype(np.intp)]


@dataclass(frozen=True)
class SeveralClassesModel:
    """Coefficients of a regularised logistic regression of several classes.

    Attributes
    ----------
    lam : float
        Weight of the penalty.
    functions : tuple of CentredCoefficients
        The decision of each class as a linear function of the columns as they were given.
    classes : tuple
        The labels.
    is_multinomial : bool
        Whether chances are the exponentials of decisions over their sum; otherwise each class has
        its own binary model, whose chances are divided by their sum.
    radius, constant_columns, duplicate_columns
        As of :class:`LogisticModel`; the radius is that of all coefficients together.
    """

    lam: float
    functions: tuple[CentredCoefficients, ...] = field(repr=False)
    classes: tuple[Any, ...]
    is_multinomial: bool
    radius: float
    constant_columns: tuple[int, ...]
    duplicate_columns: dict[int, int]

    @property
    def coef(self) -> FloatArray:
        """Coefficients for the columns as they were given, a row for each class."""
        return np.array([function.slopes for function in self.functions])

    @property
    def intercept(self) -> FloatArray:
        """The constants, of sum zero in a multinomial model."""
        values = np.array([function.intercept for function in self.functions])
        return values - values.mean() if self.is_multinomial else values

    def decision_function(self, X: npt.ArrayLike) -> FloatArray:
        """Return the decisions for rows of features, a column for each class."""
        rows = checked_rows(X, self.functions[0].slopes.size)
        return np.column_stack([function(rows) for function in self.functions])

    def predict_proba(self, X: npt.ArrayLike) -> FloatArray:
        """Return the chances for rows of features, a column for each class."""
        decisions = self.decision_function(X)
        if self.is_multinomial:
            return np.asarray(softmax(decisions, axis=1))
        chances = expit(decisions)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the class of the largest decision for rows of features, the first at a tie."""
        labels: npt.NDArray[Any] = np.asarray(self.classes)[
            self.decision_function(X).argmax(axis=1)
        ]
        return labels


def checked_rows(X: npt.ArrayLike, n_features: int) -> FloatArray:
    """Return rows of features, or raise `InputError`."""
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise InputError(f"X must be a table of {n_features} columns, got the shape {rows.shape}")
    return rows
