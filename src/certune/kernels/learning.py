"""Learning from a stream of utility functions: windows over their discontinuities."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from certune._core import learning as core
from certune.deadline import current_stop
from certune.kernels.arrays import integers, reals


class OwnedEnds(NamedTuple):
    """Ends of intervals in ascending order, and the number of the function that each belongs to.

    Attributes
    ----------
    places : float64 array of shape (n_ends,)
        Sorted.
    owners : int64 array of shape (n_ends,)
        Numbers from 0 to n_owners - 1.
    """

    places: npt.ArrayLike
    owners: npt.ArrayLike


def fullest_window(
    entries: OwnedEnds, exits: OwnedEnds, n_owners: int, width: float, closed: bool
) -> tuple[int, float]:
    """Return the largest number of owners that one position of a window meets, and where.

    Discontinuity i is met by the window [x, x + width] for x from ``entry - width`` to ``exit``.
    The comparison of the two is exact, rounding of the sum included.

    Parameters
    ----------
    entries, exits : OwnedEnds
        Each sorted on its own; both hold the same discontinuities.
    n_owners : int
        Number of functions.
    width : float
        Width of the window.
    closed : bool
        Whether the ends of the intervals of positions belong to them.

    Returns
    -------
    count : int
        Largest number of different owners.
    exit : float
        An end of the interval of positions at which the count is reached: the window can start
        there (closed) or just before (open). NaN if there is none.
    """
    return core.fullest_window(
        (reals(entries[0]), integers(entries[1])),
        (reals(exits[0]), integers(exits[1])),
        n_owners,
        width,
        closed,
        current_stop(),
    )
