"""Data of several classes as the solvers see them, and their solutions and paths.

Coefficients of all classes stand one class after the other: K times the kept columns, each with an
intercept if there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.families.logistic.instance import ClassificationInstance
from certune.families.logistic.newton import PathProblem
from certune.families.logistic.panels import Quantity
from certune.families.logistic.path import CoefficientPath, Solution, solution_at
from certune.families.logistic.ridge import ridge_path, ridge_problem
from certune.families.logistic.several.multinomial import MultinomialProblem
from certune.families.logistic.several.one_versus_rest import IndependentProblems, joined_path
from certune.families.logistic.threads import one_thread
from certune.families.logistic.training import CentredCoefficients, TrainingData

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class SeveralClasses:
    """Prepared data of an instance with any number of classes.

    Attributes
    ----------
    shared : TrainingData
        What does not depend on the classes: columns, their shifts and scales, and weights.
    is_multinomial : bool
        Whether there is one model of all classes, or one for each class against the rest.
    """

    shared: TrainingData
    is_multinomial: bool

    @property
    def instance(self) -> ClassificationInstance:
        """The data."""
        return self.shared.instance

    @property
    def n_classes(self) -> int:
        """Number K of classes."""
        return self.instance.n_classes

    @property
    def n_features(self) -> int:
        """Number of columns that have coefficients, without the intercept."""
        return int(self.shared.kept.size)

    @cached_property
    def validation(self) -> FloatArray:
        """Rows (x, 1) of the validation data."""
        X = self.instance.X_val
        return self.shared.rows(X, np.ones(len(X)))

    @property
    def n_columns(self) -> int:
        """Number of coefficients of each class, with the intercept."""
        return int(self.validation.shape[1])

    def decisions(self, coefficients: FloatArray) -> FloatArray:
        """Return decisions on the validation data, of shape (..., n, K)."""
        parts = coefficients.reshape(*coefficients.shape[:-1], self.n_classes, self.n_columns)
        return np.asarray(np.swapaxes(parts @ self.validation.T, -1, -2))

    @cached_property
    def models(self) -> list[TrainingData]:
        """The binary problem of each class against the rest."""
        shared = self.shared
        return [
            TrainingData(
                self.instance.one_versus_rest(number),
                shared.penalty,
                shared.fit_intercept,
                shared.standardize,
            )
            for number in range(self.n_classes)
        ]

    @cached_property
    def _problem(self) -> PathProblem:
        """The smooth problem of the l2 penalty."""
        shared = self.shared
        if self.is_multinomial:
            rows = shared.rows(self.instance.X, np.ones(len(self.instance.X)))
            plain = ridge_problem(rows, shared.penalties, shared.row_weights)
            return MultinomialProblem.of(plain, self.instance.codes, self.n_classes)
        return IndependentProblems(
            tuple(
                ridge_problem(model.design, model.penalties, model.row_weights)
                for model in self.models
            )
        )

    def solution(self, lam: float, target: float) -> Solution:
        """Solve at one value of lam, without the path.

        Parameters
        ----------
        lam : float
            The parameter, positive.
        target : float
            Aim for the error of the coefficients.
        """
        if self.shared.penalty == "l2":
            return self._smooth_solution(lam, target)
        found = [solution_at(model, lam, target) for model in self.models]
        return Solution(
            np.concatenate([one.coefficients for one in found]),
            np.concatenate([one.columns + k * self.n_columns for k, one in enumerate(found)]),
            float(np.linalg.norm([one.radius for one in found])),
        )

    @one_thread
    def _smooth_solution(self, lam: float, target: float) -> Solution:
        node = self._problem.solve(lam, np.zeros(self._problem.size), target)
        coefficients = self._problem.expanded(node.point)
        return Solution(coefficients, np.arange(coefficients.size), node.radius)

    @one_thread
    def path(self, low: float, high: float, quantity: Quantity, target: float) -> CoefficientPath:
        """Follow the coefficients of all classes over a range of lam.

        Parameters
        ----------
        low, high : float
            The range.
        quantity : Quantity
            What is followed, as a function of all coefficients.
        target : float
            Aim for its error.
        """
        if self.shared.penalty == "l1":
            return joined_path(self.models, low, high, quantity, target)
        pieces = ridge_path(self._problem, low, high, quantity, target)
        everything = np.arange(self.n_classes * self.n_columns)
        expand: Callable[[FloatArray], FloatArray] = self._problem.expanded
        return CoefficientPath(pieces, [expand] * len(pieces), [everything] * len(pieces))

    def functions(self, coefficients: FloatArray) -> list[CentredCoefficients]:
        """Return what solvers' coefficients mean for the columns as they were given."""
        parts = coefficients.reshape(self.n_classes, self.n_columns)
        return [self.shared.centred(part) for part in parts]

    @cached_property
    def order_without_features(self) -> FloatArray:
        """For two classes without features, the sign of the difference of their decisions.

        An intercept alone makes the chance of its class equal to its share of the weight.
        """
        weights = self.instance.weights
        counted = [1] * len(self.instance.y) if weights is None else weights.tolist()
        totals = [Fraction(0)] * self.n_classes
        for code, weight in zip(self.instance.codes.tolist(), counted, strict=True):
            totals[code] += Fraction(weight)
        if not self.shared.fit_intercept:
            totals = [Fraction(0)] * self.n_classes
        return np.array([[float((a > b) - (a < b)) for b in totals] for a in totals])

    def log_chances(self, decisions: FloatArray) -> FloatArray:
        """Return logarithms of the chances of classes, the last axis.

        With one model for each class the chances are those of its class, divided by their sum, as
        in scikit-learn's OneVsRestClassifier.
        """
        logs = decisions if self.is_multinomial else -np.logaddexp(0.0, -decisions)
        top = logs.max(axis=-1, keepdims=True)
        return np.asarray(logs - top - np.log(np.exp(logs - top).sum(axis=-1, keepdims=True)))

    @property
    def steepness(self) -> float:
        """By how much a logarithm of a chance changes, relative to the decisions of its row.

        At most max - min, hence sqrt(2), times the Euclidean length of the change, or for models
        of each class twice its largest entry.
        """
        return 2.0**0.5 * (1.0 + 1e-12) if self.is_multinomial else 2.0
