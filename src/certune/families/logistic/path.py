"""The path of coefficients of one instance, whatever the penalty.

:class:`CoefficientPath` is what both path algorithms give: coefficients as polynomials in log lam
on touching intervals, and along with them the polynomials of a quantity that is followed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.errors import ParameterError
from certune.families.logistic.lasso import lasso_path, lasso_solution
from certune.families.logistic.newton import Node
from certune.families.logistic.panels import PathPiece, Quantity, values_at
from certune.families.logistic.ridge import ridge_path, ridge_problem
from certune.families.logistic.support import LassoProblem
from certune.families.logistic.threads import one_thread
from certune.families.logistic.training import TrainingData

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Solution:
    """Coefficients at one value of lam.

    Attributes
    ----------
    coefficients : ndarray
        For the columns of the design, the intercept last if there is one.
    columns : ndarray of int
        Columns whose coefficients are not exactly zero.
    radius : float
        Proved bound of their Euclidean distance to the exact solution (for the l1 penalty: on
        the face of the active coefficients).
    """

    coefficients: FloatArray
    columns: IndexArray
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
    columns : list of ndarray of int
        For each piece, the columns whose coefficients are not exactly zero.
    """

    pieces: list[PathPiece]
    expanders: list[Callable[[FloatArray], FloatArray]]
    columns: list[IndexArray]

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
        if not self.starts[0] <= lam <= self.stops[-1]:
            raise ParameterError(
                f"lam must lie in the range [{self.starts[0]}, {self.stops[-1]}] of the path, got "
                f"{lam!r}."
            )
        return self.on_piece(self.index(lam), lam)

    def index(self, lam: float) -> int:
        """Return the number of the piece that a lam lies on."""
        return max(int(np.searchsorted(self.starts, lam, side="right")) - 1, 0)

    def on_piece(self, index: int, lam: float) -> FloatArray:
        """Return the coefficients at a point of one piece, up to the stated errors."""
        piece = self.pieces[index]
        return self.expanders[index](values_at(piece.points, (piece.local(lam),))[0])


@one_thread
def coefficient_path(
    data: TrainingData, low: float, high: float, quantity: Quantity, target: float
) -> CoefficientPath:
    """Follow the coefficients over a range of lam.

    Parameters
    ----------
    data : TrainingData
        The data.
    low, high : float
        The range.
    quantity : Quantity
        What is followed, as a function of all coefficients.
    target : float
        Aim for its error.
    """
    if data.penalty == "l2":
        problem = ridge_problem(data.design, data.penalties, data.row_weights)
        pieces = ridge_path(problem, low, high, quantity, target)
        everything = np.arange(data.design.shape[1])
        return CoefficientPath(pieces, [problem.expanded] * len(pieces), [everything] * len(pieces))
    found = lasso_path(
        LassoProblem(data.design, data.penalties, data.row_weights), low, high, quantity, target
    )
    return CoefficientPath(
        [part.piece for part in found],
        [part.face.expanded for part in found],
        [part.face.columns for part in found],
    )


@one_thread
def solution_at(data: TrainingData, lam: float, target: float) -> Solution:
    """Solve at one value of lam, without the path: the plain algorithm.

    Parameters
    ----------
    data : TrainingData
        The data.
    lam : float
        The parameter, positive.
    target : float
        Aim for the error of the coefficients.
    """
    if data.penalty == "l2":
        problem = ridge_problem(data.design, data.penalties, data.row_weights)
        node: Node = problem.solve(lam, np.zeros(problem.size), target)
        everything = np.arange(data.design.shape[1])
        return Solution(problem.expanded(node.point), everything, node.radius)
    face, node = lasso_solution(
        LassoProblem(data.design, data.penalties, data.row_weights), lam, target
    )
    point = node.point.copy()
    # Within its error of zero a coefficient may come out on the other side of its face.
    beyond = face.signs * point[: face.signs.size] <= 0.0
    point[: face.signs.size][beyond] = face.signs[beyond] * sys.float_info.min
    return Solution(face.expanded(point), face.columns, node.radius)
