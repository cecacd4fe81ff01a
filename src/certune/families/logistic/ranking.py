"""The area under the ROC curve as an exact function of lam.

The area is the share of pairs, one point of each class, in which the point of the second class has
the larger decision value; a tie counts half. It changes where two decisions cross. Where the model
cannot tell the points of a pair apart, because they agree in all columns with a coefficient, they
tie exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from certune.dual import PiecewiseFunction
from certune.dual.chebyshev import PolynomialPieces
from certune.errors import UndecidedError
from certune.families.logistic.accuracy import (
    Parts,
    certain_signs,
    margin_polynomials,
    stacked,
    weighted_count,
)
from certune.families.logistic.instance import ClassificationInstance
from certune.families.logistic.path import CoefficientPath, Solution
from certune.families.logistic.training import TrainingData
from certune.families.logistic.utility import REMEDY, UNIT

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# Numbers of the polynomials of pairs that are looked at together: about 100 MB.
TOGETHER = 12_000_000


@dataclass(frozen=True)
class Pairs:
    """Pairs of validation points, one of each class.

    Attributes
    ----------
    above, below : ndarray of int
        Points of the class, the second of two, and of the others.
    weights : ndarray of int, of any size
        How much each point counts, in a common unit. Pairs of points that do not count are left
        out.
    total : int
        The sum of the products of weights, over all pairs.
    """

    above: IndexArray
    below: IndexArray
    weights: npt.NDArray[np.object_]
    total: int

    @classmethod
    def of(cls, instance: ClassificationInstance, number: int = 1) -> Pairs:
        """Return all pairs of validation points, of a class and of the rest."""
        codes, exact = instance.codes_val, instance.exact_validation_weights
        unit = math.lcm(*(weight.denominator for weight in exact))
        weights = np.array([int(weight * unit) for weight in exact], dtype=object)
        counts = weights > 0
        second = np.flatnonzero((codes == number) & counts)
        first = np.flatnonzero((codes != number) & counts)
        above, below = np.repeat(second, first.size), np.tile(first, second.size)
        total = int(weights[second].sum()) * int(weights[first].sum())
        return cls(above, below, weights, total)

    @property
    def sizes(self) -> list[int]:
        """How much each pair counts, in units of which `total` make 1."""
        return list((self.weights[self.above] * self.weights[self.below]).tolist())

    def weighted(self, wins: npt.NDArray[np.int64]) -> Fraction:
        """Return the sum of numbers of pairs, each times how much the pair counts."""
        return Fraction(int(wins.astype(object) @ np.array(self.sizes, dtype=object)), self.total)

    def chosen(self, which: IndexArray) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.above[which], self.below[which], self.weights, self.total)


def orders_at(solution: Solution, data: TrainingData) -> npt.NDArray[np.int64]:
    """Return for each pair 2 if it is ordered rightly, 1 at a tie and 0 otherwise.

    Raises
    ------
    UndecidedError
        If two decisions are closer to each other than they are known.
    """
    pairs, rows = Pairs.of(data.instance), _unsigned(data)
    features = solution.columns[solution.columns < data.kept.size]
    apart = rows[pairs.above][:, features] - rows[pairs.below][:, features]
    sizes = np.sqrt((apart**2).sum(axis=1))
    found = apart @ solution.coefficients[features]
    norm = float(np.linalg.norm(solution.coefficients[features]))
    largest = float(np.sqrt((rows[:, features] ** 2).sum(axis=1)).max(initial=0.0))
    # A difference of two entries is rounded once, which is relative to the entries.
    reach = sizes * (solution.radius + 2 * (features.size + 5) * UNIT * norm)
    reach += 4 * UNIT * norm * largest
    if features.size == 1 and data.penalty == "l1":
        # The active coefficient has the sign of its face, however small it is.
        found, reach = apart[:, 0] * np.sign(solution.coefficients[features[0]]), 0.0 * reach
    tied = ~apart.any(axis=1)
    open_ = (np.abs(found) <= reach) & ~tied
    if open_.any():
        first = int(np.argmax(open_))
        raise UndecidedError(
            f"Validation points {pairs.above[first]} and {pairs.below[first]} have the same "
            f"decision value up to the error of the solution; {REMEDY}."
        )
    return np.where(tied, 1, np.where(found > 0.0, 2, 0))


def area_at(solution: Solution, data: TrainingData) -> Fraction:
    """Return the area at one solution."""
    return Pairs.of(data.instance).weighted(orders_at(solution, data)) / 2


def area_dual(
    path: CoefficientPath,
    data: TrainingData,
    orders: Callable[[float], npt.NDArray[np.int64]],
) -> PiecewiseFunction:
    """Return the area along a path on which margins were followed.

    Parameters
    ----------
    path : CoefficientPath
        The path.
    data : TrainingData
        The data.
    orders : callable
        Plain answers for all pairs at a value of lam, as of :func:`orders_at`; asked at an end of
        the range that is not certain.
    """
    pairs = Pairs.of(data.instance)
    margins = margin_polynomials(path, data.validation)
    n_pieces, width = len(path.pieces), margins.coefficients.shape[1]
    signs = data.instance.y_val
    decisions = margins.coefficients.reshape(signs.size, n_pieces, width) * signs[:, None, None]
    errors = margins.errors.reshape(signs.size, n_pieces)
    many = max(1, TOGETHER // (n_pieces * width))
    strict: list[Parts] = []
    weak: list[Parts] = []
    for start in range(0, pairs.above.size, many):
        part = pairs.chosen(np.arange(start, min(start + many, pairs.above.size)))
        polynomials, ties = _differences(path, data, part, decisions, errors)
        wins = certain_signs(polynomials, np.zeros(ties.size, dtype=bool))
        strict += wins
        if ties.any():
            weak += certain_signs(polynomials, np.ones(ties.size, dtype=bool))
        else:
            weak += wins

    def answers(lam: float) -> npt.NDArray[np.int64]:
        found = orders(lam)
        return np.append(found == 2, found >= 1).astype(np.int64)

    # A pair counts half for ">" and half for ">=".
    low, high = float(path.starts[0]), float(path.stops[-1])
    counted = weighted_count([*strict, *weak], pairs.sizes * 2, low, high, answers)
    return counted * Fraction(1, 2 * pairs.total)


def _unsigned(data: TrainingData) -> FloatArray:
    return np.asarray(data.validation * data.instance.y_val[:, None])


def _differences(
    path: CoefficientPath,
    data: TrainingData,
    pairs: Pairs,
    decisions: FloatArray,
    errors: FloatArray,
) -> tuple[PolynomialPieces, npt.NDArray[np.bool_]]:
    """Return the differences of decisions of pairs, and which pairs tie exactly somewhere."""
    rows = _unsigned(data)
    differences = decisions[pairs.above] - decisions[pairs.below]
    sizes = np.abs(decisions).sum(axis=2)
    reach = errors[pairs.above] + errors[pairs.below]
    reach += 4 * UNIT * (sizes[pairs.above] + sizes[pairs.below])
    ties = np.zeros(pairs.above.size, dtype=bool)
    for piece, columns in enumerate(path.columns):
        features = columns[columns < data.kept.size]
        apart = rows[pairs.above][:, features] - rows[pairs.below][:, features]
        if features.size == 1 and data.penalty == "l1":
            # One active coefficient keeps its sign on the face, and with it the whole order.
            inside = path.at(float(np.sqrt(path.starts[piece] * path.stops[piece])))
            differences[:, piece] = 0.0
            differences[:, piece, 0] = np.sign(apart[:, 0]) * np.sign(inside[features[0]])
            reach[:, piece] = 0.0
        tied = ~apart.any(axis=1)
        differences[tied, piece], reach[tied, piece] = 0.0, 0.0
        ties |= tied
    return stacked(path, differences, reach), ties
