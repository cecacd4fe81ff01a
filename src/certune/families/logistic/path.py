"""The path of coefficients of one instance, whatever the penalty.

:class:`CoefficientPath` is what both path algorithms give: coefficients as polynomials in log lam
on touching intervals, and along with them the polynomials of a quantity that is followed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.families.logistic.lasso import lasso_path, lasso_solution
from certune.families.logistic.panels import PathPiece, Quantity, values_at
from certune.families.logistic.ridge import ridge_path, ridge_problem
from certune.families.logistic.smooth import Node
from certune.families.logistic.support import LassoProblem
from certune.families.logistic.threads import one_thread
from certune.families.logistic.training import TrainingData

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """Coefficients at one value of lam.

    Attributes
    ----------
    coefficients : ndarray
        For the columns of the design, the intercept last if there is one.
    radius : float
        Proved bound of their Euclidean distance to the exact solution (for the l1 penalty: on
        the face of the active coefficients).
    """

    coefficients: FloatArray
    radius: float


@dataclass(frozen=True)
class CoefficientPath:
    """Pieces of a path, from small to large lam.

    Attributes
    ----------
    pieces : list of PathPiece
        Polynomials in the coordinates of the problem of each piece.
    expanders : list of callable
        For each piece, turns these coordinates into coefficients.
    """

    pieces: list[PathPiece]
    expanders: list[Callable[[FloatArray], FloatArray]]

    @cached_property
    def starts(self) -> FloatArray:
        """Lower ends of the pieces."""
        return np.array([piece.low for piece in self.pieces])

    @cached_property
    def stops(self) -> FloatArray:
        """Upper ends of the pieces."""
        return np.array([piece.high for piece in self.pieces])

    @property
    def n_steps(self) -> int:
        """Newton steps that were taken in all pieces."""
        return sum(piece.n_steps for piece in self.pieces)

    def at(self, lam: float) -> FloatArray:
        """Return the coefficients at a point of the range, up to the stated errors."""
        index = max(int(np.searchsorted(self.starts, lam, side="right")) - 1, 0)
        piece = self.pieces[index]
        return self.expanders[index](values_at(piece.points, (piece.local(lam),))[0])


@one_thread
def coefficient_path(
    data: TrainingData, penalty: str, low: float, high: float, quantity: Quantity, target: float
) -> CoefficientPath:
    """Follow the coefficients over a range of lam.

    Parameters
    ----------
    data : TrainingData
        The data.
    penalty : {"l1", "l2"}
        The penalty.
    low, high : float
        The range.
    quantity : Quantity
        What is followed, as a function of all coefficients.
    target : float
        Aim for its error.
    """
    if penalty == "l2":
        problem = ridge_problem(data.design, data.instance.n_features)
        pieces = ridge_path(problem, low, high, quantity, target)
        return CoefficientPath(pieces, [problem.expanded] * len(pieces))
    everything = _Placed(data.kept, data.design.shape[1])
    inner = Quantity(lambda kept: quantity.of(everything(kept)), quantity.steepness)
    found = lasso_path(lasso_problem(data), low, high, inner, target)
    return CoefficientPath(
        [part.piece for part in found],
        [_Placed(data.kept[part.face.columns], data.design.shape[1]) for part in found],
    )


@dataclass(frozen=True)
class _Placed:
    """Turns the coefficients of some columns into those of all; the others are zero."""

    columns: npt.NDArray[np.intp]
    size: int

    def __call__(self, coefficients: FloatArray) -> FloatArray:
        everything = np.zeros((*coefficients.shape[:-1], self.size))
        everything[..., self.columns] = coefficients
        return everything


def lasso_problem(data: TrainingData) -> LassoProblem:
    """Return the l1 problem without duplicate columns."""
    n_features = int(np.count_nonzero(data.kept < data.instance.n_features))
    return LassoProblem(np.ascontiguousarray(data.design[:, data.kept]), n_features)


@one_thread
def solution_at(data: TrainingData, penalty: str, lam: float, target: float) -> Solution:
    """Solve at one value of lam, without the path: the plain algorithm.

    Parameters
    ----------
    data : TrainingData
        The data.
    penalty : {"l1", "l2"}
        The penalty.
    lam : float
        The parameter, positive.
    target : float
        Aim for the error of the coefficients.
    """
    if penalty == "l2":
        problem = ridge_problem(data.design, data.instance.n_features)
        node: Node = problem.solve(lam, np.zeros(problem.design.shape[1]), target)
        return Solution(problem.expanded(node.point), node.radius)
    face, node = lasso_solution(lasso_problem(data), lam, target)
    placed = _Placed(data.kept[face.columns], data.design.shape[1])
    return Solution(placed(node.point), node.radius)
