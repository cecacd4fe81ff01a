"""What a family asks of one instance: its utility at one lam, and as a function of lam.

Two classes have one vector of coefficients, several have one for each class; everything above this
module sees no difference.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from certune.dual import DualFunction
from certune.families.logistic.metric import Metric
from certune.families.logistic.model import LogisticModel, SeveralClassesModel
from certune.families.logistic.path import CoefficientPath, Solution, coefficient_path, solution_at
from certune.families.logistic.several.classes import SeveralClasses
from certune.families.logistic.training import TrainingData

# Aim for single solutions.
SOLUTION_TARGET = 1e-13


Data = TypeVar("Data", TrainingData, SeveralClasses)


@dataclass(frozen=True)
class Task(ABC, Generic[Data]):
    """A score of the models of one instance.

    Attributes
    ----------
    data : TrainingData or SeveralClasses
        The prepared data.
    metric : Metric
        The score.
    """

    data: Data
    metric: Metric[Data]

    @abstractmethod
    def solution(self, lam: float) -> Solution:
        """Solve at one lam, without the path."""

    @abstractmethod
    def model(self, lam: float) -> LogisticModel | SeveralClassesModel:
        """Return the fitted model at one lam."""

    @abstractmethod
    def path(self, low: float, high: float, target: float) -> CoefficientPath:
        """Follow the coefficients, and what is scored to an error of the target."""

    def utility_at(self, lam: float) -> Fraction:
        """Return the utility of the solution at one lam."""
        return self.metric.at(self.solution(lam), self.data)

    def utility(self, low: float, high: float, target: float) -> DualFunction:
        """Return the utility as a function of lam."""
        return self.metric.along(self.path(low, high, target), self.data, self.solution)


class TwoClasses(Task[TrainingData]):
    """A score of binary models."""

    def solution(self, lam: float) -> Solution:
        """Solve at one lam, without the path."""
        return solution_at(self.data, lam, SOLUTION_TARGET)

    def model(self, lam: float) -> LogisticModel:
        """Return the fitted model at one lam."""
        solution = self.solution(lam)
        function, (first, second) = (
            self.data.centred(solution.coefficients),
            self.data.instance.classes,
        )
        return LogisticModel(lam, function, (first, second), solution.radius, *self.data.columns)

    def path(self, low: float, high: float, target: float) -> CoefficientPath:
        """Follow the coefficients, and what is scored to an error of the target."""
        return coefficient_path(self.data, low, high, self.metric.quantity(self.data), target)


class ManyClasses(Task[SeveralClasses]):
    """A score of models of several classes."""

    def solution(self, lam: float) -> Solution:
        """Solve at one lam, without the path."""
        return self.data.solution(lam, SOLUTION_TARGET)

    def model(self, lam: float) -> SeveralClassesModel:
        """Return the fitted model at one lam."""
        solution, data = self.solution(lam), self.data
        return SeveralClassesModel(
            lam,
            tuple(data.functions(solution.coefficients)),
            data.instance.classes,
            data.is_multinomial,
            solution.radius,
            *data.shared.columns,
        )

    def path(self, low: float, high: float, target: float) -> CoefficientPath:
        """Follow the coefficients, and what is scored to an error of the target."""
        return self.data.path(low, high, self.metric.quantity(self.data), target)
