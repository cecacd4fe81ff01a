"""Utilities of a model on validation data: at one solution, and the log-loss along a path.

The accuracy along a path is in :mod:`certune.families.logistic.accuracy`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from certune.dual import PiecewisePolynomial
from certune.errors import UndecidedError
from certune.families.logistic.panels import Quantity
from certune.families.logistic.path import CoefficientPath, Solution

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53


def mean_loss(rows: FloatArray) -> Quantity:
    """Return the mean log-loss on rows as a quantity to follow.

    Its derivative along a unit vector is at most the mean norm of the rows.
    """
    steepness = float(np.sqrt((rows**2).sum(axis=1)).mean()) * (1 + 1e-9) + 1e-300
    return Quantity(
        lambda b: np.logaddexp(0.0, -(b @ rows.T)).mean(axis=-1, keepdims=True), steepness
    )


def margins(rows: FloatArray) -> Quantity:
    """Return the margins of rows as a quantity to follow."""
    steepness = float(np.sqrt((rows**2).sum(axis=1)).max()) * (1 + 1e-9) + 1e-300
    return Quantity(lambda b: b @ rows.T, steepness)


def log_loss_dual(
    path: CoefficientPath, rows: FloatArray, largest: float, name: str
) -> PiecewisePolynomial:
    """Return ``largest - loss``, cut off at 0, along a path on which the mean loss was followed."""
    coefficients = -followed(path)[:, :, 0]
    coefficients[:, 0] += largest
    nothing = np.zeros(len(path.pieces) - 1)
    curve = PiecewisePolynomial(
        path.starts,
        path.stops,
        coefficients,
        stated_errors(path, rows),
        nothing,
        nothing,
        name=name,
        scale="log",
    )
    return curve.clip(0.0, largest)


def stated_errors(path: CoefficientPath, rows: FloatArray) -> FloatArray:
    """Return the stated errors, with the rounding of values and of the transform."""
    norm = float(np.sqrt((rows**2).sum(axis=1)).max())
    errors = []
    for piece in path.pieces:
        size = float(np.abs(piece.quantity).sum(axis=0).max())
        reach = float(np.linalg.norm(piece.points, axis=1).sum())
        rounding = (rows.shape[1] + 4) * norm * reach + (len(rows) + 16 * len(piece.points)) * size
        errors.append(piece.error + 2 * UNIT * rounding)
    return np.array(errors)


def followed(path: CoefficientPath) -> FloatArray:
    """Return the polynomials of what was followed: an array (piece, coefficient, entry)."""
    parts = [piece.quantity for piece in path.pieces]
    width = max(len(part) for part in parts)
    together = np.zeros((len(parts), width, parts[0].shape[1]))
    for row, part in zip(together, parts, strict=True):
        row[: len(part)] = part
    return together


def log_loss_at(solution: Solution, rows: FloatArray, largest: float) -> Fraction:
    """Return ``largest - loss``, cut off at 0, at one solution."""
    loss = float(np.logaddexp(0.0, -(rows @ solution.coefficients)).mean())
    return Fraction(min(max(largest - loss, 0.0), largest))


def hits_at(solution: Solution, rows: FloatArray, signs: FloatArray) -> npt.NDArray[np.int64]:
    """Return 1 for every row that is classified rightly, else 0.

    A point belongs to the second class if its decision function is positive, as in scikit-learn.

    Raises
    ------
    UndecidedError
        If a margin is closer to zero than it is known.
    """
    found = rows @ solution.coefficients
    norms = np.sqrt((rows**2).sum(axis=1))
    size = float(np.linalg.norm(solution.coefficients))
    reach = norms * (solution.radius + 2 * (rows.shape[1] + 4) * UNIT * size)
    open_ = (np.abs(found) <= reach) & (reach > 0.0)
    if open_.any():
        raise UndecidedError(
            f"Validation point {int(np.argmax(open_))} lies on the boundary between the classes "
            "up to the error of the solution; choose a slightly different lam."
        )
    # A margin of exactly zero counts for the first class, that is, for the sign -1.
    return np.where(found == 0.0, signs < 0.0, found > 0.0).astype(np.int64)
