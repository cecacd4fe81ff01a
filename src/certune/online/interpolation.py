"""How far a utility function is from straight lines between some of its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, PiecewisePolynomial
from certune.errors import InputError

FloatArray = npt.NDArray[np.float64]


def middles(dual: DualFunction, coordinates: FloatArray) -> FloatArray:
    """Return the values of a function at points; the middles of its bounds in gaps."""
    values = dual(coordinates)
    for place in np.flatnonzero(np.isnan(values)).tolist():
        values[place] = 0.5 * sum(dual.enclose(float(coordinates[place])))
    return values


def distance_bound(
    dual: DualFunction, coordinates: FloatArray, values: FloatArray, logarithmic: bool
) -> float:
    """Bound the distance between a function and the interpolant through some of its values.

    Parameters
    ----------
    dual : DualFunction
        The function.
    coordinates : ndarray
        Increasing points, from one end of the domain to the other.
    values : ndarray
        Values at these points.
    logarithmic : bool
        Whether the interpolant is linear in the logarithm of the coordinate.

    Returns
    -------
    float
        Upper bound of the largest difference, all rounding and stated errors included.

    Examples
    --------
    >>> hill = PiecewisePolynomial([0], [2], [[0.5, 0, -0.5]], [0.0], [], [])
    >>> round(distance_bound(hill, np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.0]), False), 6)
    0.25
    """
    scale = "log" if logarithmic else "linear"
    mismatch = 0.0
    if isinstance(dual, PiecewisePolynomial) and dual.scale != scale:
        # Both interpolants run monotonically from value to value, whatever their scale.
        scale, mismatch = dual.scale, float(np.abs(np.diff(values)).max())
    halves = 0.5 * np.column_stack((values[1:] + values[:-1], values[1:] - values[:-1]))
    rounding = np.full(len(halves), 2.0**-51 * float(np.abs(values).max()))
    nothing = np.zeros(len(halves) - 1)
    negated = PiecewisePolynomial(
        coordinates[:-1], coordinates[1:], -halves, rounding, nothing, nothing, dual.name, scale
    )
    return (negated + dual).magnitude_bound + mismatch


def checked_answers(answers: Any, n_answers: int) -> FloatArray:
    """Return what a surrogate has answered as an array; raise `InputError` if it cannot be."""
    try:
        values = np.array(answers, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (n_answers,) or not np.isfinite(values).all():
        raise InputError(f"the surrogate must return {n_answers} finite utilities, got {answers!r}")
    return values
