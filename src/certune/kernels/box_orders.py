"""Orders of two linkage values on a box of parameters, from their records.

Records are those of `box_models`.  Every answer is proved for the whole box, or for the box without
a face on which the two values agree; ``docs/theory/branch-and-bound.md`` says why.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.borrowing import borrowing

UNCERTAIN = np.int64(-1)  # stands for a pair of points: the extreme pair is not certain


@borrowing
def surplus(far, near, n_intervals, n_simplex):
    """Lower bound of (far - near) over the box: positive proves the order."""
    rho = n_intervals + n_simplex + 1
    low = far[0] - near[0] - (far[rho] + near[rho])
    for c in range(1, 1 + n_intervals):
        low -= abs(far[c] - near[c])
    if n_simplex > 0:
        least = np.inf
        for c in range(1 + n_intervals, rho):
            least = min(least, far[c] - near[c])
        low += least
    return low


@njit(cache=True, nogil=True)
def slope(far, near, n_intervals, n_simplex, lane, start, stop):
    """Lower bound of the slope of (far - near) from one vertex of a part of the box to another.

    Positive on the whole box and zero at a face proves the order everywhere else.
    """
    last = n_intervals + n_simplex + 2
    if n_simplex > 0:
        c = 1 + n_intervals
        rise = (far[c + stop] - near[c + stop]) - (far[c + start] - near[c + start])
    else:
        rise = 2.0 * (stop - start) * (far[lane] - near[lane])
    return rise - (far[last] + near[last])


@njit(cache=True, nogil=True)
def may_vanish(far, near, n_intervals, n_simplex, face):
    """Can (far - near) be zero at the vertices of a face, as far as the records tell?

    A face is given by which vertices of one part of the box belong to it, and, if that part is an
    interval, by its lane.
    """
    rho = n_intervals + n_simplex + 1
    lane = face[face.size - 1]
    room = far[rho] + near[rho]
    for c in range(1, 1 + n_intervals):
        if c != lane:
            room += abs(far[c] - near[c])
    for k in range(face.size - 1):
        if face[k]:
            value = far[0] - near[0]
            if n_simplex > 0:
                value += far[1 + n_intervals + k] - near[1 + n_intervals + k]
            else:
                value += (2 * k - 1) * (far[lane] - near[lane])
            if abs(value) > room:
                return False
    return True


@njit(cache=True, nogil=True)
def order_off_face(far, near, n_intervals, n_simplex, face):
    """1 or -1 if two values that agree on a face are ordered off it, else 0."""
    lane = face[face.size - 1]
    start = 0
    while not face[start]:
        start += 1
    rises = True
    falls = True
    for k in range(face.size - 1):
        if not face[k]:
            rises = rises and slope(far, near, n_intervals, n_simplex, lane, start, k) > 0.0
            falls = falls and slope(near, far, n_intervals, n_simplex, lane, start, k) > 0.0
    return 1 if rises else (-1 if falls else 0)


@njit(cache=True, nogil=True)
def take_extreme(
    here, pair, there, other, n_intervals, n_simplex, pair_codes, faces, face_codes, sign
):
    """Make ``here`` the minimum (sign = 1) or maximum (sign = -1) of two records.

    Returns the pair of points that attains it, or UNCERTAIN.  If a is the record with the better
    centre, the extreme lies between a and a - sign times the most by which b can beat a.
    """
    n = pair_codes.shape[0]
    last = n_intervals + n_simplex + 2
    known = pair != UNCERTAIN and other != UNCERTAIN
    if known and pair_codes[pair // n, pair % n] == pair_codes[other // n, other % n]:
        return min(pair, other)
    better = sign * there[0] < sign * here[0]
    if better:
        gain = -(
            surplus(here, there, n_intervals, n_simplex)
            if sign > 0
            else surplus(there, here, n_intervals, n_simplex)
        )
    else:
        gain = -(
            surplus(there, here, n_intervals, n_simplex)
            if sign > 0
            else surplus(here, there, n_intervals, n_simplex)
        )
    if gain > 0.0 and known:
        for f in range(faces.shape[0]):
            if face_codes[f, pair // n, pair % n] == face_codes[
                f, other // n, other % n
            ] and may_vanish(here, there, n_intervals, n_simplex, faces[f]):
                order = order_off_face(here, there, n_intervals, n_simplex, faces[f])
                if order != 0:
                    better = (order > 0) == (sign > 0)
                    gain = 0.0
                    break
    if better:
        for c in range(last + 1):
            here[c] = there[c]
        pair = other
    if not gain > 0.0:
        return pair
    here[0] -= 0.5 * sign * gain
    here[last - 1] += 0.5 * gain
    here[last] = np.inf
    return UNCERTAIN


@njit(cache=True, nogil=True)
def merge_extremes(
    models, extremes, x, y, z, n_intervals, n_simplex, pair_codes, faces, face_codes
):
    """Write the records of (x + y, z) over those of (x, z) for min-max linkage.

    A cluster pair has three records: the sum of its minimum and maximum, which is what is
    compared, then the minimum and the maximum.
    """
    width = n_intervals + n_simplex + 3
    for larger in range(2):
        start = width * (1 + larger)
        extremes[x, z, larger] = take_extreme(
            models[x, z, start : start + width],
            extremes[x, z, larger],
            models[y, z, start : start + width],
            extremes[y, z, larger],
            n_intervals,
            n_simplex,
            pair_codes,
            faces,
            face_codes,
            -1.0 if larger == 1 else 1.0,
        )
    extremes[z, x] = extremes[x, z]
    for c in range(width):
        models[x, z, c] = models[x, z, width + c] + models[x, z, 2 * width + c]
    models[z, x] = models[x, z]
