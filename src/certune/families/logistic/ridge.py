"""The path of l2-regularised logistic regression, as polynomials in log lam.

The solution is an analytic function of lam > 0, so that a few panels of Chebyshev points cover
any range. Every solution starts from the polynomial of the previous degree.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from certune.deadline import unless_stopped
from certune.errors import UndecidedError
from certune.families.logistic.newton import Node, PathProblem
from certune.families.logistic.panels import Panel, PathPiece, Quantity
from certune.families.logistic.smooth import RotatedProblem, SmoothProblem

FloatArray = npt.NDArray[np.float64]

DEGREES = (6, 12, 24, 48, 96)
# Where the polynomials are checked: in the middle, and close to the upper end.
CHECKS = (0.5, 0.03)
# A panel of this width in log lam is not split again.
NARROWEST = 1e-3
# Share of the target that the errors of the solutions themselves may have.
NODE_SHARE = 0.01


def ridge_problem(
    design: FloatArray, penalties: FloatArray, weights: FloatArray | None = None
) -> SmoothProblem:
    """Return the smooth problem of the l2 penalty.

    With more features than rows it is posed in the row space.

    Parameters
    ----------
    design : ndarray
        Rows y_i x_i, or y_i (x_i, 1) with an intercept.
    penalties : ndarray
        Factors of the coefficients in the penalty, for the columns without the intercept; all
        equal if there are more of them than rows.
    weights : ndarray, optional
        Weights of the rows, of mean 1.
    """
    (n_rows, n_columns), n_features = design.shape, penalties.size
    free = np.zeros(n_columns - n_features)
    if n_features <= n_rows:
        quadratic = np.append(2.0 * penalties**2, free)
        return SmoothProblem(design, np.zeros(n_columns), quadratic, weights=weights)
    operations = 4.0 * n_features * n_rows**2
    basis, _ = unless_stopped(operations, np.linalg.qr, design[:, :n_features].T)
    rotated = np.column_stack((design[:, :n_features] @ basis, design[:, n_features:]))
    quadratic = np.append(np.full(basis.shape[1], 2.0 * penalties[0] ** 2), free)
    linear = np.zeros(quadratic.size)
    return RotatedProblem(
        np.ascontiguousarray(rotated), linear, quadratic, design, basis, weights=weights
    )


def ridge_path(
    problem: PathProblem, low: float, high: float, quantity: Quantity, target: float
) -> list[PathPiece]:
    """Follow the solution over ``[low, high]``.

    Parameters
    ----------
    problem : PathProblem
        From :func:`ridge_problem`, or of several classes.
    low, high : float
        The range of lam, ``0 < low < high``.
    quantity : Quantity
        What is followed.
    target : float
        Aim for the error of the quantity.

    Returns
    -------
    list of PathPiece
        Touching pieces, from low to high.

    Raises
    ------
    UndecidedError
        If the path cannot be followed to this error.
    """
    radius = NODE_SHARE * target / quantity.steepness

    def solve(lams: FloatArray, starts: FloatArray) -> list[Node]:
        pairs = zip(lams.tolist(), starts, strict=True)
        return [problem.solve(lam, start, radius) for lam, start in pairs]

    def follow(low: float, high: float, known: list[Node]) -> list[PathPiece]:
        panel = Panel(low, high, solve, problem.expanded, quantity, CHECKS)
        for node in known:
            panel.put(node)
        piece = panel.sample(DEGREES, np.zeros(problem.size), target)
        if piece is not None:
            return [piece]
        middle = math.sqrt(low) * math.sqrt(high)
        if math.log(high / low) < NARROWEST:
            raise UndecidedError(
                f"The path around lam = {middle:.6g} is too rough to be followed to an error of "
                f"{target:.3g}; raise the tolerance or the lower end of the range."
            )
        ends = [panel.end(-1.0), panel.end(0.0), panel.end(1.0)]
        middle = ends[1].lam
        return [*follow(low, middle, ends[:2]), *follow(middle, high, ends[1:])]

    return follow(low, high, [])
