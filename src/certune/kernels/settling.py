"""Where the largest of several polynomials is certain.

On a panel the soft labels of a node are known as polynomials in Chebyshev form, one for each
class, with an error bound.  This module cuts the panel into parts on which the winner is proved,
and zones, as narrow as the error allows, in which it is not.  A part is settled if the winner's
lead exceeds the sum of the other coefficients; if two classes are left and their difference is
monotone there, the two ends of the zone are found by bisection; otherwise the part is halved.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

UNIT = 2.0**-53
OPEN = -1  # more than two classes, or no monotone difference, in a zone
DEPTH = 48


def halving_columns(degree: int) -> list[list[int]]:
    """For each j <= degree the coefficients of ``2**j T_j((x - 1) / 2)``, which are integers."""
    columns: list[list[int]] = [[1], [-1, 1]]
    for j in range(2, degree + 1):
        # T_j = (x - 1) T_{j-1} - T_{j-2}, and x T_k = (T_{k+1} + T_{|k-1|}) / 2
        last, before = columns[-1], columns[-2]
        new = [0] * (j + 1)
        for k, value in enumerate(last):
            new[k] -= 2 * value
            if k == 0:
                new[1] += 2 * value
            else:
                new[k + 1] += value
                new[k - 1] += value
        for k, value in enumerate(before):
            new[k] -= 4 * value
        columns.append(new)
    return columns[: degree + 1]


def halving_matrix(degree: int) -> np.ndarray:
    """Matrix that takes Chebyshev coefficients on [-1, 1] to those on [-1, 0], rounded once."""
    matrix = np.zeros((degree + 1, degree + 1))
    for j, column in enumerate(halving_columns(degree)):
        for k, value in enumerate(column):
            matrix[k, j] = value / 2**j
    return matrix


@njit(cache=True, nogil=True)
def coefficients(values):
    """Chebyshev coefficients, last axis, of the interpolants at the nodes ``cos(pi j / N)``.

    ``values[j]`` are numbers in [0, 1] at node j, in any number of columns.  Sums are compensated:
    each coefficient is within 16 UNIT, as the moduli of the factors add up to at most 2 and each
    of them, a cosine of a reduced argument times two numbers, is within 5 UNIT.
    """
    count, columns = values.shape
    degree = count - 1
    result = np.empty((columns, count))
    total, lost = np.empty(columns), np.empty(columns)
    for k in range(count):
        total[:] = 0.0
        lost[:] = 0.0
        for j in range(count):
            factor = math.cos(math.pi * ((j * k) % (2 * degree)) / degree) * 2.0 / degree
            if j == 0 or j == degree:
                factor *= 0.5
            if k == 0 or k == degree:
                factor *= 0.5
            row = values[j]
            for i in range(columns):
                term = factor * row[i] - lost[i]
                raised = total[i] + term
                lost[i] = (raised - total[i]) - term
                total[i] = raised
        for i in range(columns):
            result[i, k] = total[i]
    return result


@njit(cache=True, nogil=True)
def _clenshaw(series, count, x):
    first, second = 0.0, 0.0
    for k in range(count - 1, 0, -1):
        first, second = series[k] + 2.0 * x * first - second, first
    return series[0] + x * first - second


@njit(cache=True, nogil=True)
def _clenshaw_error(series, count):
    """Bound of the rounding in `_clenshaw` for |x| <= 1.

    A rounding in step k is passed on by a Chebyshev polynomial of the second kind, at most k + 1,
    and intermediate results are at most sums of ``(j - k + 1) |series[j]|``.
    """
    error, tail, ramp = 0.0, 0.0, 0.0
    for k in range(count - 1, -1, -1):
        tail += abs(series[k])
        ramp += tail
        error += (k + 1) * ramp
    return 8.0 * UNIT * error


@njit(cache=True, nogil=True)
def _edge_of_zone(series, count, level, inside, outside):
    """A point between ``inside`` and ``outside`` beyond which ``|series| > level``, nearly best."""
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        if middle == inside or middle == outside:
            break
        if abs(_clenshaw(series, count, middle)) > level:
            outside = middle
        else:
            inside = middle
    return outside


@njit(cache=True, nogil=True)
def _halving_error(part):
    """Bound of the rounding when a part is halved.

    The coefficients of a polynomial that is bounded by 1, as T_k on a half, have a sum of at most
    ``sqrt(2 (k + 1))``; the term of degree k goes through at most k + 3 roundings because sums
    run from high to low degree.
    """
    worst = 0.0
    for c in range(len(part)):
        error = 0.0
        for k in range(part.shape[1]):
            error += (k + 3) * math.sqrt(2.0 * (k + 1)) * abs(part[c, k])
        worst = max(worst, error)
    return worst * UNIT * (1 + 1e-12)


@njit(cache=True, nogil=True)
def settle_node(series, admitted, error, halving, leaves):
    """Append the leaves ``(low, high, winner, rival)`` of one node, in order, to a list.

    ``series[c]`` are the coefficients of class c on [-1, 1], each value within ``error``; classes
    that are not ``admitted`` never win.  In a zone the winner is one of both classes, or any
    admitted class if both are ``OPEN``.
    """
    n_classes, count = series.shape
    stack = np.empty((DEPTH + 2, n_classes, count))
    lows, highs = np.empty(DEPTH + 2), np.empty(DEPTH + 2)
    errors = np.empty(DEPTH + 2)
    depths = np.empty(DEPTH + 2, dtype=np.int64)
    stack[0] = series
    lows[0], highs[0], errors[0], depths[0] = -1.0, 1.0, error, 0
    size = 1
    difference = np.empty(count)
    while size > 0:
        size -= 1
        low, high, margin, depth = lows[size], highs[size], errors[size], depths[size]
        part = stack[size].copy()
        best = -1
        for c in range(n_classes):
            if admitted[c] and (best < 0 or part[c, 0] > part[best, 0]):
                best = c
        rival, n_rivals, n_equal = OPEN, 0, 0
        for c in range(n_classes):
            if c == best or not admitted[c]:
                continue
            spread = 0.0
            for k in range(1, count):
                spread += abs(part[best, k] - part[c, k])
            if not part[best, 0] - part[c, 0] > (spread + 2.0 * margin) * (1 + 1e-12):
                rival = c
                n_rivals += 1
                n_equal += part[best, 0] - part[c, 0] + spread <= 2.0 * margin
        if n_rivals == 0:
            leaves.append((low, high, best, best))
            continue
        if n_rivals == 1:
            slope = 0.0
            for k in range(count):
                difference[k] = part[best, k] - part[rival, k]
                if k > 1:
                    slope += k * k * abs(difference[k])
            if abs(difference[1]) > slope * (1 + 1e-12):
                level = (2.0 * margin + _clenshaw_error(difference, count)) * (1 + 1e-12)
                _append_monotone(difference, count, level, low, high, best, rival, leaves)
                continue
        if n_equal == n_rivals or depth == DEPTH:
            # Nothing more can be known: all differences are smaller than the error.
            both = n_rivals == 1
            leaves.append((low, high, best if both else OPEN, rival if both else OPEN))
            continue
        margin += _halving_error(part)
        # The right half is the left half of the mirrored series.
        middle = 0.5 * (low + high)
        for c in range(n_classes):
            for i in range(count):
                left, right = 0.0, 0.0
                for k in range(count - 1, i - 1, -1):
                    term = halving[i, k] * part[c, k]
                    left += term
                    right += -term if k % 2 else term
                stack[size + 1, c, i] = left
                stack[size, c, i] = -right if i % 2 else right
        lows[size], highs[size] = middle, high
        lows[size + 1], highs[size + 1] = low, middle
        for s in (size, size + 1):
            errors[s] = margin
            depths[s] = depth + 1
        size += 2


@njit(cache=True, nogil=True)
def _append_monotone(difference, count, level, low, high, best, rival, leaves):
    """Leaves of a part on which the difference of two classes is monotone."""
    at_low = _clenshaw(difference, count, -1.0)
    at_high = _clenshaw(difference, count, 1.0)
    if min(abs(at_low), abs(at_high)) > level and (at_low > 0) == (at_high > 0):
        winner = best if at_low > 0 else rival
        leaves.append((low, high, winner, winner))
        return
    root = _root(difference, count)
    start = -1.0 if abs(at_low) <= level else _edge_of_zone(difference, count, level, root, -1.0)
    stop = 1.0 if abs(at_high) <= level else _edge_of_zone(difference, count, level, root, 1.0)
    half, centre = 0.5 * (high - low), 0.5 * (high + low)
    zone_low = low if start == -1.0 else max(low, centre + half * start - 4 * UNIT)
    zone_high = high if stop == 1.0 else min(high, centre + half * stop + 4 * UNIT)
    if zone_low > low:
        winner = best if at_low > 0 else rival
        leaves.append((low, zone_low, winner, winner))
    leaves.append((zone_low, zone_high, best, rival))
    if zone_high < high:
        winner = best if at_high > 0 else rival
        leaves.append((zone_high, high, winner, winner))


@njit(cache=True, nogil=True)
def _root(series, count):
    """Where a monotone series is nearest to zero, up to rounding."""
    low, high = -1.0, 1.0
    rising = _clenshaw(series, count, 1.0) > _clenshaw(series, count, -1.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if (_clenshaw(series, count, middle) < 0.0) == rising:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@njit(cache=True, nogil=True)
def settle(series, admitted, errors, halving):
    """Leaves of all nodes: columns (node, winner, rival), and ends in [-1, 1]."""
    n = len(series)
    nodes, lists = [], []
    for i in range(n):
        leaves = [(0.0, 0.0, 0, 0)]
        leaves.clear()
        settle_node(series[i], admitted[i], errors[i], halving, leaves)
        for leaf in leaves:
            nodes.append(i)
            lists.append(leaf)
    count = len(nodes)
    info = np.empty((count, 3), dtype=np.int64)
    ends = np.empty((count, 2))
    for k in range(count):
        low, high, winner, rival = lists[k]
        info[k, 0], info[k, 1], info[k, 2] = nodes[k], winner, rival
        ends[k, 0], ends[k, 1] = low, high
    return info, ends
