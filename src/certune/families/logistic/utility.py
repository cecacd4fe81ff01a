"""Margins of validation data: along a path with their errors, and their signs at one solution.

What is made of them is in :mod:`certune.families.logistic.scoring`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from certune.errors import UndecidedError
from certune.families.logistic.panels import Quantity
from certune.families.logistic.path import CoefficientPath, Solution
from certune.families.logistic.training import TrainingData

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53
# What can be done where points tie.
REMEDY = (
    "choose a slightly different lam, or, where points tie at every lam since the data are "
    "mirrored, the log-loss or the Brier score"
)


def margins(rows: FloatArray) -> Quantity:
    """Return the margins of rows as a quantity to follow."""
    steepness = float(np.sqrt((rows**2).sum(axis=1)).max()) * (1 + 1e-9) + 1e-300
    return Quantity(lambda b: b @ rows.T, steepness)


def stated_errors(path: CoefficientPath, rows: FloatArray) -> FloatArray:
    """Return the stated errors, with the rounding of values and of the transform."""
    norm = float(np.sqrt((rows**2).sum(axis=1)).max())
    errors = []
    # One rounding of the rows themselves is included.
    for piece in path.pieces:
        size = float(np.abs(piece.quantity).sum(axis=0).max())
        reach = float(np.linalg.norm(piece.points, axis=1).sum())
        rounding = (rows.shape[1] + 5) * norm * reach + (len(rows) + 16 * len(piece.points)) * size
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


def hits_at(solution: Solution, data: TrainingData) -> npt.NDArray[np.int64]:
    """Return 1 for every validation point that is classified rightly, else 0.

    A point belongs to the second class if its decision function is positive, as in scikit-learn.

    Raises
    ------
    UndecidedError
        If a margin is closer to zero than it is known.
    """
    rows, columns = data.validation, solution.columns
    found = rows @ solution.coefficients
    norms = np.sqrt((rows[:, columns] ** 2).sum(axis=1))
    size = float(np.linalg.norm(solution.coefficients))
    reach = norms * (solution.radius + 2 * (rows.shape[1] + 5) * UNIT * size)
    open_ = (np.abs(found) <= reach) & (reach > 0.0)
    if open_.any():
        known = signs_of_one_feature(data, columns, solution.coefficients, solution.radius)
        if known is not None:
            found, open_ = np.where(open_, known, found), open_ & (known == 0.0)
    if open_.any():
        raise UndecidedError(
            f"Validation point {int(np.argmax(open_))} lies on the boundary between the classes "
            f"up to the error of the solution; {REMEDY}."
        )
    # A margin of exactly zero counts for the first class, that is, for the sign -1.
    return np.where(reach == 0.0, data.instance.y_val < 0.0, found > 0.0).astype(np.int64)


def signs_of_one_feature(
    data: TrainingData, columns: npt.NDArray[np.intp], coefficients: FloatArray, error: float
) -> FloatArray | None:
    """Return the signs of margins with one active feature, however small; 0 where unknown.

    Let b be the coefficient, with the l1 penalty. Without an intercept a margin is b times an
    entry of the row. With one, and as many training points of either class, the decisions
    c_k = b_0 + b z_k on the training data, z being centred, fulfil sum(sigma(c_k) - 1/2) = 0.
    Hence not all c_k have one sign, |b_0| <= |b| Z with Z = max |z_k|, so |c_k| <= 2 |b| Z; and as
    |sigma(c) - 1/2 - c/4| <= |c|^3 / 48,

        |b_0| = |mean(c)| <= mean(|c|^3) / 12 <= (2/3) |b|^3 Z^3.

    A decision has the sign of b z wherever |z| > (2/3) b^2 Z^3. As |b| does not increase with lam,
    this stays so for larger lam.

    Parameters
    ----------
    data : TrainingData
        The data.
    columns : ndarray of int
        Columns of coefficients that are not exactly zero.
    coefficients : ndarray
        The coefficients; that of the feature has the right sign.
    error : float
        Bound of their error.

    Returns
    -------
    ndarray or None
        None if the statement is about something else: there are several active features, the
        penalty is l2, points have weights, or the classes are not balanced.
    """
    features = [column for column in columns.tolist() if column < data.kept.size]
    y, y_val = data.instance.y, data.instance.y_val
    if data.penalty != "l1" or len(features) != 1 or data.row_weights is not None:
        return None
    if data.fit_intercept and y.sum() != 0.0:
        return None
    [column] = features
    sign, entries = np.sign(coefficients[column]), data.validation[:, column]
    if not data.fit_intercept:
        return np.asarray(sign * np.sign(entries))
    training = data.design[:, column] * y
    middle = float(training.mean())
    reach = float(np.abs(training - middle).max())
    away = entries * y_val - middle
    size = abs(float(coefficients[column])) + error
    noise = 4.0 * (len(training) + 4) * UNIT * float(np.abs(training).max() + np.abs(away).max())
    certain = np.abs(away) > size**2 * reach**3 + noise
    return np.asarray(np.where(certain, sign * np.sign(away) * y_val, 0.0))
