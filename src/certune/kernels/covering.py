"""From the leaves of a sweep to a function: what their utilities say about every point.

The sweep returns leaves (an interval and a partition each) that overlap where the order of two
cluster pairs changes.  Utilities are given as ranks, so that the kernels need not know what kind
of number they are.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.linking import linked
from certune.kernels.polish import first_above, leaf_bounds


@njit(cache=True, nogil=True)
def ranked_leaves(intervals, info, splits, ranks, highest, ranges):
    """Intervals of the leaves, cut by their splits, and the ranks that each of them can have.

    ``ranks`` belong to the partitions. A leaf without a partition can have any, up to ``highest``.
    Leaves count in the disjoint ``ranges`` alone: what lies outside of them is left out.
    Returns (low, high, least, most), arguments of `certune.kernels.polish.envelope`.
    """
    m = info.shape[0]
    bounds = leaf_bounds(intervals, info, splits)
    low = np.empty(m * ranges.shape[0])
    high = np.empty(low.size)
    least = np.zeros(low.size, np.int64)
    most = np.full(low.size, highest)
    count = 0
    for r in range(ranges.shape[0]):
        for i in range(m):
            low[count] = max(bounds[i, 0], ranges[r, 0])
            high[count] = min(bounds[i, 1], ranges[r, 1])
            if not low[count] < high[count]:
                continue
            which = info[i, 2]
            if which >= 0:
                least[count] = ranks[which]
                most[count] = ranks[which]
            count += 1
    return low[:count], high[:count], least[:count], most[:count]


@njit(cache=True, nogil=True)
def unsettled_splits(splits, positions, bottom, top):
    """Indices of the splits whose zone meets an interval on which the rank is not settled.

    O(log m) for each split, where m is the number of intervals; the other arguments are the result
    of `certune.kernels.polish.envelope`.
    """
    unsettled = np.flatnonzero(bottom != top)
    stops = positions[unsettled + 1]
    found = np.empty(splits.shape[0], np.int64)
    count = 0
    for s in range(splits.shape[0]):
        i = first_above(stops, splits[s, 0])
        if i < unsettled.size and splits[s, 1] > positions[unsettled[i]]:
            found[count] = s
            count += 1
    return found[:count]


@njit(cache=True, nogil=True)
def joined(positions, bottom, top, special):
    """Join neighbouring intervals of the same settled rank, and neighbours that are not settled.

    The latter stay apart at ``special`` positions (ascending), where the utility can be found out.
    Takes the result of `certune.kernels.polish.envelope` and returns, for each joined interval,
    its ends and its smallest and largest rank (equal where it is settled).
    """
    starts = np.empty(bottom.size)
    stops = np.empty(bottom.size)
    least = np.empty(bottom.size, np.int64)
    most = np.empty(bottom.size, np.int64)
    last = -1
    for i in range(bottom.size):
        settled = bottom[i] == top[i]
        if last >= 0 and (
            (settled and least[last] == bottom[i] and most[last] == top[i])
            or (not settled and least[last] != most[last] and not _contains(special, positions[i]))
        ):
            least[last] = min(least[last], bottom[i])
            most[last] = max(most[last], top[i])
        else:
            last += 1
            starts[last] = positions[i]
            least[last] = bottom[i]
            most[last] = top[i]
        stops[last] = positions[i + 1]
    return starts[: last + 1], stops[: last + 1], least[: last + 1], most[: last + 1]


@linked
def _contains(ascending, value):
    i = first_above(ascending, value)
    return i > 0 and ascending[i - 1] == value
