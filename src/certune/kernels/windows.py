"""How many functions change within one window: a sliding window over enclosed discontinuities.

A discontinuity is known to lie between ``low[i]`` and ``high[i]``.  A window [x, x + width]
contains it for certain if x is in [high - width, low], and possibly if x is in (low - width, high).
Either way every discontinuity is an interval of positions x, entered in one order and left in
another; walking along both orders at once keeps the number of functions with an entered
discontinuity.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _excess(entry, exit_, width):
    """Return the sign of ``entry - (exit_ + width)``, exactly."""
    total = exit_ + width
    if entry < total:
        return -1
    if entry > total:
        return 1
    # The rounding error of the sum (two-sum), which is a float itself.
    part = total - exit_
    error = (exit_ - (total - part)) + (width - part)
    if error > 0.0:
        return -1
    return 1 if error < 0.0 else 0


@njit(cache=True, nogil=True)
def fullest_window(entries, entry_owners, exits, exit_owners, n_owners, width, closed):
    """Return the largest number of owners that one position of the window meets, and where.

    Parameters
    ----------
    entries, exits : float64 array
        Discontinuity i is met from ``entries - width`` to ``exits``; each array is sorted on its
        own, together with its owners.
    entry_owners, exit_owners : int64 array
        Number of the function that each entry or exit belongs to.
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
    active = np.zeros(n_owners, dtype=np.int64)
    count, best, place = 0, 0, np.nan
    leaving = 0
    for i in range(entries.size):
        while leaving < exits.size:
            sign = _excess(entries[i], exits[leaving], width)
            if sign < 0 or (closed and sign == 0):
                break
            owner = exit_owners[leaving]
            active[owner] -= 1
            if active[owner] == 0:
                count -= 1
            leaving += 1
        owner = entry_owners[i]
        active[owner] += 1
        if active[owner] == 1:
            count += 1
        if count > best:
            best, place = count, exits[leaving]
    return best, place
