"""A stretch of a line with one sign, or a bracket around a place where the sign changes."""

from __future__ import annotations

from typing import NamedTuple


class Cell(NamedTuple):
    """A closed interval with the sign of the function, or a bracket.

    Parameters
    ----------
    low, high : float
        The ends.
    sign : int or None
        The sign at every point; None on a bracket.
    root : float or None
        On a bracket, the one root if it is known exactly.
    """

    low: float
    high: float
    sign: int | None
    root: float | None = None
