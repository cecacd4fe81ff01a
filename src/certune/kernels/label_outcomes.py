"""Which labels are possible on a box of parameters, and how many can be right at once.

Soft labels are linear functions on the box, given by their values at its vertices, up to a proved
error (`kernels.harmonic_boxes`).
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Room for the rounding of a comparison; and how close soft labels are that may be tied.
ROUNDING, CLOSE = 2.0**-48, 1e-9
# A mixture of two functions is negative if it is so by this share of their moduli.
MIXTURE_ROUNDING = 1e-12


@njit(cache=True, nogil=True)
def rule_out(values, errors, truth, possible):
    """Rule out classes that lose to another one on the whole box.

    ``values`` (vertices, nodes, classes) are linear functions by their values at the vertices, with
    ``errors`` (nodes, classes).  Returns for every node how far ahead its true class can be of the
    rival that is hardest to beat, at the vertices, and whether two possible classes are close.
    """
    n_vertices, m, n_classes = values.shape
    room = np.full((m, n_vertices), np.inf)
    close = np.zeros(m, np.bool_)
    ahead = np.empty(n_vertices)
    for u in range(m):
        least = np.inf
        for c in range(n_classes):
            if not possible[u, c]:
                continue
            for d in range(n_classes):
                if c == d:
                    continue
                margin = errors[u, c] + errors[u, d]
                most, distance = -np.inf, 0.0
                for v in range(n_vertices):
                    lead = values[v, u, c] - values[v, u, d]
                    # A few roundings of numbers of this size are charged here.
                    ahead[v] = lead + (margin + ROUNDING * (abs(lead) + 1.0))
                    most = max(most, ahead[v])
                    distance = max(distance, abs(lead))
                if most < 0.0:
                    possible[u, c] = False
                elif distance <= CLOSE:
                    close[u] = True
                if truth[u] == c and most < least:
                    least = most
                    room[u] = ahead
    return room, close


@njit(cache=True, nogil=True)
def conflicts(room):
    """A maximal set of disjoint pairs of rows that are nowhere on the box both >= 0.

    ``room`` (rows, vertices) are linear functions by their values at the vertices.  Two of them
    exclude each other if a mixture of both is negative at every vertex.  Returns the number.
    """
    m, n_vertices = room.shape
    taken = np.zeros(m, np.bool_)
    count = 0
    for a in range(m):
        for b in range(a + 1, m):
            if taken[a]:
                break
            if not taken[b] and _exclude(room[a], room[b], n_vertices):
                taken[a] = taken[b] = True
                count += 1
    return count


@njit(cache=True, nogil=True)
def _exclude(first, second, n_vertices):
    """Is some mixture of two rows negative everywhere? The best one balances two vertices."""
    for v in range(n_vertices):
        for w in range(v):
            slope_v = second[v] - first[v]
            slope_w = second[w] - first[w]
            if slope_v == slope_w:
                continue
            share = (first[v] - first[w]) / (slope_w - slope_v)
            if not 0.0 < share < 1.0:
                continue
            negative = True
            for x in range(n_vertices):
                mixed = (1.0 - share) * first[x] + share * second[x]
                if mixed > -MIXTURE_ROUNDING * (abs(first[x]) + abs(second[x])):
                    negative = False
                    break
            if negative:
                return True
    return False
