"""Breakpoints to full precision: one comparison of cluster pairs near its change of order.

A split of the sweep comes with a zone that holds the change.  There the difference of the two
linkage values has a polynomial model with a proved error.  Where the model is monotone, its sign
at two points bounds the change from both sides; elsewhere the ends of the zone move inwards as
far as the model proves that the order stays.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from certune.kernels.borrowing import lending
from certune.kernels.differences import difference_model, evaluated, pairs_of
from certune.kernels.linking import linked
from certune.kernels.series import AFFINE, TERMS, UNIT

_MOST_ROUNDS = 64
_MOST_STEPS = 60


@linked
def _shifted(coefficients, origin, out):
    """Coefficients of powers of u - origin; returns a bound of the error of their sum."""
    size = 0.0
    for k in range(TERMS):
        out[k] = coefficients[k]
        size += (k + 1) * abs(coefficients[k])
    if origin == 0.0:
        return 0.0
    for i in range(TERMS - 1):
        for k in range(TERMS - 2, i - 1, -1):
            out[k] += origin * out[k + 1]
    return 4.0 * TERMS * UNIT * size


@linked
def _direction(coefficients, start, stop):
    """Return 1 or -1 if the polynomial is proved monotone between two places in [-1, 1], else 0."""
    around = np.empty(TERMS)
    error = _shifted(coefficients, 0.5 * (start + stop), around)
    reach = 0.5 * abs(stop - start) * (1.0 + 1e-9) + 8.0 * UNIT
    bend = TERMS * error
    power = 1.0
    for k in range(2, TERMS):
        power *= reach
        bend += k * abs(around[k]) * power
    if abs(around[1]) <= bend * (1.0 + 1e-12):
        return 0
    return 1 if around[1] > 0.0 else -1


@linked
def _free_reach(coefficients, start, inwards, sign, error):
    """How far from ``start``, in the direction ``inwards``, the model surely keeps its sign."""
    around = np.empty(TERMS)
    lost = _shifted(coefficients, start, around)
    spare = sign * around[0] - error - lost
    if spare <= 0.0:
        return 0.0
    steep = max(0.0, -sign * inwards * around[1]) + lost
    bend = 1e-300
    for k in range(2, TERMS):
        bend += abs(around[k]) + lost
    return 0.9 * min(1.0, 2.0 * spare / (steep + math.sqrt(steep * steep + 4.0 * bend * spare)))


@linked
def _enclose_root(coefficients, a, b, s, error, low, high, order_left):
    """Where a monotone model changes sign: Newton's method, then proved signs on both sides."""
    least = min((a + b * low) * s, (a + b * high) * s)
    most = max((a + b * low) * s, (a + b * high) * s)
    falling = order_left if b > 0.0 else -order_left
    u = (a + b * (0.5 * (low + high))) * s
    value, slope = evaluated(coefficients, u)
    for _ in range(_MOST_STEPS):
        if value * falling > 0.0:
            least = u
        else:
            most = u
        new = u - value / slope if slope != 0.0 else np.inf
        if not least <= new <= most:
            new = 0.5 * (least + most)
        moved = abs(new - u)
        u = new
        value, slope = evaluated(coefficients, u)
        if moved <= 4.0 * UNIT:
            break
    if slope == 0.0:
        return low, high
    root = (u / s - a) / b
    reach = 1.01 * (error + abs(value)) / abs(slope * s * b) + 2.0 * UNIT * abs(root)
    new_low = low
    new_high = high
    for side in range(2):
        step = reach
        wanted = order_left if side == 0 else -order_left
        for _ in range(12):
            t = root - step if side == 0 else root + step
            if t <= low or t >= high:
                break
            value, _ = evaluated(coefficients, (a + b * t) * s)
            if value * wanted > error:
                if side == 0:
                    new_low = t
                else:
                    new_high = t
                break
            step *= 2.0
    return new_low, new_high


@linked
def _trimmed_end(kind, mode, near, far, power, low, high, order_left, input_error, side, model):
    """Move one end of the zone inwards as far as the order there surely lasts."""
    end = low if side == 0 else high
    wanted = order_left if side == 0 else -order_left
    half = high - low
    for _ in range(8):
        a, b, s, floor, error = difference_model(
            kind, mode, near, far, power, end, half, input_error, model
        )
        if error < np.inf:
            u = (a + b * end) * s
            value, _ = evaluated(model, u)
            inwards = 1.0 if (b > 0.0) == (side == 0) else -1.0
            free = _free_reach(model, u, inwards, wanted, error) / abs(b * s)
            if free > 0.0:
                return min(end + free, high) if side == 0 else max(end - free, low)
            if value * wanted <= floor:
                return end
        half *= 0.25
    return end


@lending
def polish(kind, mode, first, second, power, marks, low, high, order_left, input_error):
    """Shrink the zone [low, high] of one split; returns the new zone and whether it was proved.

    ``order_left`` is the order (1: (x, y) nearer) left of the change, the opposite one holds right
    of it.  A zone of width 0 says that there is no change: one order lasts.
    """
    near, far = pairs_of(kind, mode, first, second, marks)
    model = np.empty(TERMS)
    if mode == AFFINE and power[0] + power[1] * (0.5 * (low + high)) < 0.0:
        order_left = -order_left
    proved = False
    for _ in range(_MOST_ROUNDS):
        half = 0.5 * (high - low)
        middle = low + half
        if half <= 4.0 * UNIT * (1.0 + abs(middle)):
            return low, high, True
        a, b, s, floor, error = difference_model(
            kind, mode, near, far, power, middle, half, input_error, model
        )
        direction = 0
        if error < np.inf:
            direction = _direction(model, (a + b * low) * s, (a + b * high) * s)
            direction = direction if b > 0.0 else -direction
        width = high - low
        if direction != 0:
            at_low, _ = evaluated(model, (a + b * low) * s)
            at_high, _ = evaluated(model, (a + b * high) * s)
            # One order on the whole zone: it was cut at an end of its interval.
            if min(order_left * at_low, order_left * at_high) > error:
                return high, high, True
            if max(order_left * at_low, order_left * at_high) < -error:
                return low, low, True
            if (direction > 0) == (order_left > 0):
                return low, high, proved
            low, high = _enclose_root(model, a, b, s, error, low, high, order_left)
            proved = True
            if error < 2.0 * floor:
                return low, high, True
            if high - low <= 0.5 * width:
                continue
        for side in range(2):
            end = _trimmed_end(
                kind, mode, near, far, power, low, high, order_left, input_error, side, model
            )
            if side == 0:
                low = end
            else:
                high = end
            if low >= high:
                return low, high, True
        if high - low > (1.0 - 1e-3) * width:
            return low, high, proved
    return low, high, proved


@lending
def may_tie(kind, mode, first, second, power, marks, t, input_error):
    """Could the two cluster pairs be exactly equally near at t? False is a proof that not."""
    near, far = pairs_of(kind, mode, first, second, marks)
    model = np.empty(TERMS)
    half = UNIT * (1.0 + abs(t))
    a, b, s, _, error = difference_model(kind, mode, near, far, power, t, half, input_error, model)
    value, _ = evaluated(model, (a + b * t) * s)
    return not abs(value) > error


@njit(cache=True, nogil=True)
def polish_many(kind, mode, first, second, power, splits, split_marks, which, input_error):
    """Polish the splits listed in ``which``, in place; returns which of them were proved."""
    proved = np.zeros(which.size, np.bool_)
    for i in range(which.size):
        s = which[i]
        low, high, done = polish(
            kind,
            mode,
            first,
            second,
            power,
            split_marks[s],
            splits[s, 0],
            splits[s, 1],
            splits[s, 2],
            input_error,
        )
        splits[s, 0] = low
        splits[s, 1] = high
        proved[i] = done
    return proved


@linked
def leaf_bounds(intervals, info, splits):
    """Intervals of the leaves after the zones of their splits were polished.

    A leaf lies on one side of every split above it; splits come after those above them.
    """
    bounds = intervals.copy()
    limits = splits[:, :2].copy()
    for s in range(splits.shape[0]):
        low = int(splits[s, 4])
        high = int(splits[s, 5])
        if low >= 0:
            limits[s, 0] = max(limits[s, 0], limits[low, 0])
        if high >= 0:
            limits[s, 1] = min(limits[s, 1], limits[high, 1])
    # An edge or a plain cut may lie inside; zones only ever shrink.
    for i in range(info.shape[0]):
        if info[i, 0] >= 0:
            bounds[i, 0] = max(bounds[i, 0], limits[info[i, 0], 0])
        if info[i, 1] >= 0:
            bounds[i, 1] = min(bounds[i, 1], limits[info[i, 1], 1])
    return bounds


@linked
def first_above(ascending, value):
    """Index of the first number that is larger than the value (the size, if there is none)."""
    low = 0
    high = ascending.size
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def envelope(edges, low, high, least, most):
    """Pointwise smallest and largest rank over overlapping leaves.

    ``edges`` are the ends of all leaves, sorted; they are overwritten.  Returns them without
    repetitions and, for each elementary interval between neighbours, the smallest ``least`` and
    largest ``most`` of the leaves that cover it (-1 if none does).
    """
    m = low.size
    count = 0  # of the intervals
    for edge in edges:
        if edge > edges[count]:
            count += 1
            edges[count] = edge
    positions = edges[: count + 1]
    bottom = np.full(count, 1 << 62, np.int64)
    top = np.full(count, -1, np.int64)
    for i in range(m):
        if not low[i] < high[i]:
            continue
        j = first_above(positions, low[i]) - 1
        while j < count and positions[j] < high[i]:
            bottom[j] = min(bottom[j], least[i])
            top[j] = max(top[j], most[i])
            j += 1
    return positions, bottom, top
