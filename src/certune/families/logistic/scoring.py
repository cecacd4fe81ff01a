"""What is measured on validation data: a score at one solution, and along a path.

The log-loss and the Brier score are smooth functions of the margins, and their curves have a
stated error. Accuracy, balanced accuracy and the area under the ROC curve count signs, of margins
or of differences of two decisions: they are constant between breakpoints, and exact.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from certune.dual import DualFunction, PiecewisePolynomial
from certune.errors import InputError
from certune.families.logistic.accuracy import class_shares, right_share
from certune.families.logistic.instance import ClassificationInstance
from certune.families.logistic.metric import Metric, Solver
from certune.families.logistic.panels import Quantity
from certune.families.logistic.path import CoefficientPath, Solution
from certune.families.logistic.ranking import area_at, area_dual, orders_at
from certune.families.logistic.training import TrainingData
from certune.families.logistic.utility import followed, hits_at, margins, stated_errors
from certune.scores import Score

FloatArray = npt.NDArray[np.float64]

# Aim for the error of margins whose signs are counted.
MARGIN_TARGET = 1e-11


class BinaryMetric(Metric[TrainingData]):
    """A score of a model of two classes.

    Attributes
    ----------
    score : Score
        Name and direction.
    largest : float
        The utility lies between 0 and this.
    is_exact : bool
        Whether utilities are counts, so that curves have no error.
    """

    score: Score
    largest: float = 1.0
    is_exact: bool = True


class SmoothLoss(BinaryMetric):
    """The mean of a smooth loss of the margins, of which less is better.

    Parameters
    ----------
    name : str
        Name of the score.
    largest : float
        Losses beyond this count as this.
    """

    is_exact = False

    def __init__(self, name: str, largest: float) -> None:
        self.score = Score(name, greater_is_better=False, at_zero=largest)
        self.largest = largest

    def losses(self, margins: FloatArray) -> FloatArray:
        """Return the loss of each margin."""
        if self.score.name == "log-loss":
            return np.asarray(np.logaddexp(0.0, -margins))
        return np.asarray(expit(-margins) ** 2)

    @property
    def _steepness(self) -> float:
        """Bound of the derivative of the loss: 1, or 2 p^2 (1 - p) <= 8 / 27."""
        return 1.0 if self.score.name == "log-loss" else 0.2963

    def quantity(self, data: TrainingData) -> Quantity:
        """Return the mean loss.

        Its derivative along a unit vector is at most the mean norm of the rows.
        """
        rows, shares = data.validation, data.instance.validation_shares
        norms = np.sqrt((rows**2).sum(axis=1))
        steepness = self._steepness * float(shares @ norms) * (1 + 1e-9) + 1e-300
        return Quantity(lambda b: (self.losses(b @ rows.T) @ shares)[..., None], steepness)

    def at(self, solution: Solution, data: TrainingData) -> Fraction:
        """Return ``largest - loss``, cut off at 0."""
        losses = self.losses(data.validation @ solution.coefficients)
        loss = float(losses @ data.instance.validation_shares)
        return Fraction(min(max(self.largest - loss, 0.0), self.largest))

    def along(self, path: CoefficientPath, data: TrainingData, solve: Solver) -> DualFunction:
        """Return ``largest - loss``; whoever asked for it cuts it off at 0."""
        coefficients = -followed(path)[:, :, 0]
        coefficients[:, 0] += self.largest
        nothing = np.zeros(len(path.pieces) - 1)
        errors = stated_errors(path, data.validation)
        return PiecewisePolynomial(
            path.starts, path.stops, coefficients, errors, nothing, nothing, "lam", "log"
        )


class Accuracy(BinaryMetric):
    """The share of points, or the mean of both classes' shares, that are classified rightly.

    Parameters
    ----------
    balanced : bool
        Whether both classes count alike, as far as both occur.
    """

    def __init__(self, balanced: bool) -> None:
        self.balanced = balanced
        self.score = Score("balanced accuracy" if balanced else "accuracy")

    def quantity(self, data: TrainingData) -> Quantity:
        """Return the margins."""
        return margins(data.validation)

    def shares(self, data: TrainingData) -> list[Fraction]:
        """Return how much each validation point counts; the sum is 1."""
        weights = data.instance.exact_validation_weights
        return class_shares(weights, data.instance.y_val.tolist(), self.balanced)

    def at(self, solution: Solution, data: TrainingData) -> Fraction:
        """Return the share."""
        hits = hits_at(solution, data)
        pairs = zip(hits.tolist(), self.shares(data), strict=True)
        return sum((share for hit, share in pairs if hit), Fraction(0))

    def along(self, path: CoefficientPath, data: TrainingData, solve: Solver) -> DualFunction:
        """Return the share as a function of lam."""
        return right_share(path, data, self.shares(data), lambda lam: hits_at(solve(lam), data))


class RocAuc(BinaryMetric):
    """The area under the ROC curve: how often a point of the second class ranks above another."""

    def __init__(self) -> None:
        self.score = Score("ROC AUC")

    def check(self, instance: ClassificationInstance) -> None:
        """Raise `InputError` if the validation data have one class only."""
        counted = instance.y_val
        if instance.weights_val is not None:
            counted = counted[instance.weights_val > 0.0]
        if np.unique(counted).size < 2:
            name = instance.name or "an instance"
            raise InputError(
                f"ROC AUC is not defined where the validation data have one class only, as in "
                f"{name}; use stratified folds, more validation points, or another score."
            )

    def quantity(self, data: TrainingData) -> Quantity:
        """Return the margins, from which decisions follow."""
        return margins(data.validation)

    def at(self, solution: Solution, data: TrainingData) -> Fraction:
        """Return the area."""
        return area_at(solution, data)

    def along(self, path: CoefficientPath, data: TrainingData, solve: Solver) -> DualFunction:
        """Return the area as a function of lam."""
        return area_dual(path, data, lambda lam: orders_at(solve(lam), data))


METRICS = ("log-loss", "accuracy", "balanced-accuracy", "roc-auc", "brier")


def metric_of(name: str, max_loss: float) -> BinaryMetric:
    """Return a metric by its name.

    Parameters
    ----------
    name : str
        One of `METRICS`.
    max_loss : float
        A log-loss beyond this counts as this.
    """
    if name == "log-loss":
        return SmoothLoss("log-loss", max_loss)
    if name == "brier":
        return SmoothLoss("Brier score", 1.0)
    return RocAuc() if name == "roc-auc" else Accuracy(balanced=name == "balanced-accuracy")
