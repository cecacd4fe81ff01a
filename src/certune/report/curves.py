"""Functions of a parameter as numbers to draw: steps as they are, curves at many places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, PiecewiseFunction

FloatArray = npt.NDArray[np.float64]

# A step function with more pieces than this is drawn by its values at as many places.
MOST_STEPS = 400


@dataclass(frozen=True)
class Curve:
    """A function to draw.

    Attributes
    ----------
    places : tuple of float
        Ends of the steps, one more than values; or the places of a curve, as many as values.
    values : tuple of float or None
        Values between the places, or at them; None where the function is not known.
    steps : bool
        Whether the function is constant between the places.
    """

    places: tuple[float, ...]
    values: tuple[float | None, ...]
    steps: bool


def curve_of(function: DualFunction, *, logarithmic: bool, n_places: int = 200) -> Curve:
    """Return what is to be drawn of a function.

    Parameters
    ----------
    function : PiecewiseFunction or PiecewisePolynomial
        The function.
    logarithmic : bool
        Whether its axis is.
    n_places : int
        Number of places at which a curve is drawn.
    """
    if isinstance(function, PiecewiseFunction) and function.n_pieces <= MOST_STEPS:
        middles = function.breakpoints.mean(axis=1)
        edges = np.concatenate(([function.low], middles, [function.high]))
        return Curve(tuple(edges.tolist()), _known(function.values), True)
    if isinstance(function, PiecewiseFunction):
        edges = even_places(function, logarithmic, MOST_STEPS + 1)
        middles = 0.5 * edges[:-1] + 0.5 * edges[1:]
        return Curve(tuple(edges.tolist()), _known(function(middles)), True)
    places = even_places(function, logarithmic, n_places)
    return Curve(tuple(places.tolist()), _known(function(places)), False)


def even_places(function: DualFunction, logarithmic: bool, count: int) -> FloatArray:
    """Return places that are evenly spread on the axis, both ends included."""
    spread: Any = np.geomspace if logarithmic else np.linspace
    places = np.clip(spread(function.low, function.high, count), function.low, function.high)
    return np.asarray(places, dtype=np.float64)


def _known(values: FloatArray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(value) for value in values)
