"""Scores of programs along a line: straight lines, where two of them meet, and their order.

The line ``offset + slope * t`` is six floats: for each coefficient its leading part, the rest and
a radius, so that it lies within the radius of the sum of both parts. Everything returned is proved
for all lines within these radii.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from certune._core import programs as core
from certune.deadline import current_stop
from certune.kernels.arrays import Reals, integers, reals

Coefficients = tuple[float, float, float, float, float, float]


class Crossing(NamedTuple):
    """Floats with the only root of a line strictly between them, and the sign behind it."""

    below: float
    above: float
    sign_after: int


def crossing(first: Coefficients, second: Coefficients) -> Crossing | None:
    """Return where the difference of two lines vanishes, None if that is not proved."""
    found = core.crossing(first, second)
    return None if found is None else Crossing(*found)


def sign_at(first: Coefficients, second: Coefficients, t: float) -> int:
    """Return the sign of the difference of two lines at `t`, 0 if it is not proved."""
    return core.sign_at(first, second, t)


class KineticOrder(NamedTuple):
    """The order of lines from a place on, the largest first, and who changes places where.

    Attributes
    ----------
    order : list of int
        The order just right of the start.
    brackets : list of (float, float)
        Where neighbours change places, from left to right; nothing else happens there.
    places : list of int
        The place of the first of both neighbours.
    until : float
        Behind the last bracket nothing happens up to here.
    """

    order: list[int]
    brackets: list[list[float]]
    places: list[int]
    until: float


def kinetic_order(
    lines: npt.ArrayLike, forms: npt.ArrayLike, start: float, stop: float, most: int
) -> KineticOrder | None:
    """Return the order of lines on a stretch, None if it is not proved at its start.

    Parameters
    ----------
    lines : array of shape (n, 6)
        The coefficients.
    forms : array of int, of shape (n,)
        Equal numbers for lines that are the same function; these keep the order of their indices.
    start, stop : float
        The stretch.
    most : int
        Largest number of brackets.
    """
    proved, order, brackets, places, until = core.kinetic_order(
        reals(lines), integers(forms), (start, stop, most), current_stop()
    )
    if not proved:
        return None
    return KineticOrder(order.tolist(), brackets.tolist(), places.tolist(), until)


OPERATORS = (
    "parameter",
    "constant",
    "add",
    "subtract",
    "multiply",
    "divide",
    "integer power",
    "exponential",
    "logarithm",
    "square root",
)
"""The operators of tapes, in the order of their numbers in the core."""


class Tape:
    """An expression as a list of steps that the core evaluates on boxes of its parameters.

    Parameters
    ----------
    steps : array of int, of shape (n, 3)
        Number of an operator, and those of the earlier steps that it is applied to. Of a parameter
        or a constant its own number; of an integer power the exponent in place of the second.
    constants : array of shape (m, 2)
        Intervals that hold the constants.
    n_parameters : int
        Number of parameters.

    Notes
    -----
    All ends are rounded outwards, and infinite where nothing is known, also where the expression
    is not defined everywhere.
    """

    def __init__(self, steps: npt.ArrayLike, constants: npt.ArrayLike, n_parameters: int) -> None:
        self._core = core.Tape(integers(steps), reals(constants), n_parameters)
        # Value and slope on an interval of the one parameter, as four ends.
        self.on_interval = self._core.on_interval

    def on_boxes(self, boxes: npt.ArrayLike) -> Reals:
        """Return the ends of the value and of every slope on boxes, of shape (n, 2 + 2 d).

        Parameters
        ----------
        boxes : array of shape (n, 2 d)
            Both ends of each side.
        """
        return self._core.on_boxes(reals(boxes), current_stop())
