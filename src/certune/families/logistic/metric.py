"""What a score of a fitted model has to answer, for two classes or several."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Generic, TypeVar

from certune.dual import DualFunction
from certune.families.logistic.instance import ClassificationInstance
from certune.families.logistic.panels import Quantity
from certune.families.logistic.path import CoefficientPath, Solution

Data = TypeVar("Data")
Solver = Callable[[float], Solution]


class Metric(ABC, Generic[Data]):
    """A score of a fitted model on validation data; its utility is to be maximised."""

    def check(self, instance: ClassificationInstance) -> None:  # noqa: B027
        """Raise `InputError` if the score is not defined on the validation data."""

    @abstractmethod
    def quantity(self, data: Data) -> Quantity:
        """Return what has to be followed along the path."""

    @abstractmethod
    def at(self, solution: Solution, data: Data) -> Fraction:
        """Return the utility of one solution."""

    @abstractmethod
    def along(self, path: CoefficientPath, data: Data, solve: Solver) -> DualFunction:
        """Return the utility along a path on which `quantity` was followed.

        `solve` answers at a value of lam where the path leaves a decision open.
        """
