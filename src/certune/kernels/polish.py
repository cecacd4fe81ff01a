"""Breakpoints to full precision: one comparison of cluster pairs, summed directly near its root.

A split of the sweep comes with a zone that holds the change of order.  Its ends are moved inwards
as far as no root can lie, until the difference of the two linkage values is proved monotone (first
derivative against a bound of the second); then its sign at two points encloses the one change.
Signs are taken from compensated sums with a forward error bound of a few roundings.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from certune.kernels.borrowing import lending
from certune.kernels.series import AFFINE, MEAN, MINIMUM, MINMAX, MOVING, POWER, UNIT


@njit(cache=True, nogil=True)
def _gather(matrix, marks, role):
    """Entries of the pairs of x with y (role 2) or z (role 3)."""
    n = marks.size
    n_x = 0
    n_other = 0
    for p in range(n):
        n_x += marks[p] == 1
        n_other += marks[p] == role
    values = np.empty(n_x * n_other)
    i = 0
    for a in range(n):
        if marks[a] == 1:
            row = matrix[a]
            for b in range(n):
                if marks[b] == role:
                    values[i] = row[b]
                    i += 1
    return values


@njit(cache=True, nogil=True)
def _pairs(kind, mode, first, second, marks, role):
    """Both parameters of the pairs that matter; fixed distances have the same extremes always."""
    values = _gather(first, marks, role)
    if kind != MEAN and mode == POWER:
        return np.array([[values.min(), values.max()], [0.0, 0.0]])
    return np.stack((values, _gather(second, marks, role)))


@njit(cache=True, nogil=True)
def _quotient(y):
    """expm1(y) / y and its derivative, accurate near 0."""
    if abs(y) < 0.5:
        value = 0.0
        slope = 0.0
        term = 1.0
        for k in range(24):
            value += term / (k + 1)
            slope += term * (k + 1) / ((k + 1.0) * (k + 2.0))
            term *= y / (k + 1)
        return value, slope
    shifted = math.expm1(y)
    return shifted / y, (math.exp(y) * (y - 1.0) + 1.0) / (y * y)


@njit(cache=True, nogil=True)
def _term(mode, box_cox, first, second, power, scale, t):
    """Value of one pair at t, its derivative, and the size of its exponent (for error bounds)."""
    if mode == AFFINE:
        exponent = first + t * second - scale
        value = math.exp(exponent)
        return value, value * second, abs(first) + abs(t * second) + abs(scale)
    alpha = power[0] + power[1] * t
    if mode == MOVING:
        distance = first + t * second
        log_distance = math.log(distance) - scale
        log_slope = second / distance
    else:
        log_distance = first - scale
        log_slope = 0.0
    if box_cox:
        y = alpha * log_distance
        value, slope = _quotient(y)
        y_slope = power[1] * log_distance + alpha * log_slope
        derivative = log_slope * value + log_distance * slope * y_slope
        return log_distance * value, derivative, 1.0 + abs(y) + abs(scale)
    y = alpha * log_distance
    value = math.exp(y)
    return (
        value,
        value * (power[1] * log_distance + alpha * log_slope),
        abs(alpha) * (abs(log_distance) + abs(scale)),
    )


@njit(cache=True, nogil=True)
def _linkage_value(kind, mode, box_cox, first, second, power, scale, t):
    """Linkage value of two clusters at t: (value, derivative, exponent size, certain).

    ``certain`` is False when the extreme pair is not clear, so that the derivative means nothing.
    """
    total = 0.0
    lost = 0.0
    slope = 0.0
    size = 0.0
    low = np.inf
    high = -np.inf
    low_slope = 0.0
    high_slope = 0.0
    second_low = np.inf
    second_high = -np.inf
    for i in range(first.size):
        value, derivative, exponent = _term(mode, box_cox, first[i], second[i], power, scale, t)
        size = max(size, exponent)
        slope += derivative
        # Neumaier's compensated sum
        new = total + value
        lost += (total - new) + value if total >= value else (value - new) + total
        total = new
        if value < low:
            second_low = low
            low = value
            low_slope = derivative
        elif value < second_low and derivative != low_slope:
            second_low = value
        if value > high:
            second_high = high
            high = value
            high_slope = derivative
        elif value > second_high and derivative != high_slope:
            second_high = value
    if kind == MEAN:
        return (total + lost) / first.size, slope / first.size, size, True
    clear_low = mode != MOVING or second_low - low > 1e-9 * low
    clear_high = mode != MOVING or high - second_high > 1e-9 * high
    if kind == MINMAX:
        return low + high, low_slope + high_slope, size, clear_low and clear_high
    if kind == MINIMUM:
        return low, low_slope, size, clear_low
    return high, high_slope, size, clear_high


@njit(cache=True, nogil=True)
def _difference(kind, mode, box_cox, sign, near, far, power, scale, t, input_error):
    """How much nearer (x, y) is than (x, z) at t: value, derivative, error, sum, certain.

    ``near`` and ``far`` hold the two parameters of the pairs of (x, y) and of (x, z).
    """
    value_y, slope_y, size_y, clear_y = _linkage_value(
        kind, mode, box_cox, near[0], near[1], power, scale, t
    )
    value_z, slope_z, size_z, clear_z = _linkage_value(
        kind, mode, box_cox, far[0], far[1], power, scale, t
    )
    total = abs(value_y) + abs(value_z)
    alpha = abs(power[0]) + abs(power[1] * t)
    relative = (16.0 + 6.0 * max(size_y, size_z)) * UNIT + input_error * (1.0 + alpha)
    slope = sign * (slope_z - slope_y)
    error = relative * total + 8.0 * UNIT * abs(slope) * (1.0 + abs(t))
    return sign * (value_z - value_y), slope, error, total, clear_y and clear_z


@njit(cache=True, nogil=True)
def _curvature(mode, box_cox, near, far, power, scale, low, high):
    """Bound of |second derivative| / value of any pair of the comparison on [low, high].

    exp(y) has (y')^2 + y''.  With fixed distances y'' = 0, and in the Box-Cox form, used for
    |y| < 1/2, the quotient is smaller still; for moving distances the factors are generous.
    """
    rate = 0.0
    ratio = 0.0
    alpha = max(abs(power[0] + power[1] * low), abs(power[0] + power[1] * high))
    for pairs in (near, far):
        for i in range(pairs.shape[1]):
            first = pairs[0, i]
            second = pairs[1, i]
            if mode == AFFINE:
                rate = max(rate, abs(second))
                continue
            if mode == MOVING:
                least = min(first + low * second, first + high * second)
                most = max(first + low * second, first + high * second)
                if least <= 0.0:
                    return np.inf
                ratio = max(ratio, abs(second) / least)
                size = max(abs(math.log(least) - scale), abs(math.log(most) - scale))
            else:
                size = abs(first - scale)
            rate = max(rate, abs(power[1]) * size)
    total = rate + (alpha + 2.0) * ratio
    growth = math.exp(min(600.0, 2.0 * total * (high - low)))
    factor = 1.0
    if mode == MOVING:
        factor = 16.0 if box_cox else 4.0
    return factor * growth * (total * total + 4.0 * ratio * (rate + ratio))


@njit(cache=True, nogil=True)
def _frame_of_reference(mode, near, far, power, middle):
    """Divide all values by a common factor near their own size; returns (scale, box_cox)."""
    least = np.inf
    most = -np.inf
    flattest = np.inf
    steepest = -np.inf
    for pairs in (near, far):
        for i in range(pairs.shape[1]):
            value = pairs[0, i]
            if mode == MOVING:
                value = math.log(max(pairs[0, i] + middle * pairs[1, i], 1e-300))
            elif mode == AFFINE:
                value = pairs[0, i] + middle * pairs[1, i]
                flattest = min(flattest, pairs[1, i])
                steepest = max(steepest, pairs[1, i])
            least = min(least, value)
            most = max(most, value)
    if mode == AFFINE:
        tilt = 0.5 * (flattest + steepest)
        shift = 0.5 * (least + most) - middle * tilt
        for pairs in (near, far):
            for i in range(pairs.shape[1]):
                pairs[0, i] -= shift
                pairs[1, i] -= tilt
        return 0.0, False
    alpha = power[0] + power[1] * middle
    box_cox = abs(alpha) * (1.0 + most - least) < 0.5
    return least - 1.0 if box_cox else 0.5 * (least + most), box_cox


@njit(cache=True, nogil=True)
def polish(kind, mode, first, second, power, marks, low, high, order_left, input_error):
    """Shrink the zone [low, high] of one split; returns the new zone and whether it was proved.

    ``order_left`` is the order (1: (x, y) nearer) proved at and left of ``low``; the opposite
    order holds from ``high`` on.
    """
    near = _pairs(kind, mode, first, second, marks, 2)
    far = _pairs(kind, mode, first, second, marks, 3)
    middle = 0.5 * (low + high)
    scale, box_cox = _frame_of_reference(mode, near, far, power, middle)
    sign = 1
    if not box_cox and power[0] + power[1] * middle < 0.0:
        sign = -1
    for _ in range(64):
        middle = 0.5 * (low + high)
        half = 0.5 * (high - low)
        if half <= 4.0 * UNIT * (1.0 + abs(middle)):
            return low, high, True
        bend = _curvature(mode, box_cox, near, far, power, scale, low, high)
        value, slope, error, total, clear = _difference(
            kind, mode, box_cox, sign, near, far, power, scale, middle, input_error
        )
        blur = (total * math.sqrt(bend) + abs(slope)) * 1e-10
        if not (clear and bend < np.inf):
            return low, high, False
        if abs(slope) - blur > bend * total * half:
            if (slope > 0.0) == (order_left > 0):
                # Monotone the wrong way: a zone cut at an end of its interval, without a change.
                value, _, error, _, _ = _difference(
                    kind, mode, box_cox, sign, near, far, power, scale, high, input_error
                )
                if -value * order_left > error:
                    return low, low, True
                value, _, error, _, _ = _difference(
                    kind, mode, box_cox, sign, near, far, power, scale, low, input_error
                )
                if value * order_left > error:
                    return high, high, True
                return low, high, False
            new_low, new_high = _enclose_root(
                kind,
                mode,
                box_cox,
                sign,
                near,
                far,
                power,
                scale,
                low,
                high,
                order_left,
                input_error,
                value,
                slope,
            )
            return new_low, new_high, True
        # Move each end with a proved order inwards as far as no root can lie.
        trimmed = False
        for side in range(2):
            end = low if side == 0 else high
            wanted = order_left if side == 0 else -order_left
            value, slope, error, total, clear = _difference(
                kind, mode, box_cox, sign, near, far, power, scale, end, input_error
            )
            spare = value * wanted - error
            if not clear or spare <= 0.0:
                continue
            steep = abs(slope) + blur
            curve = max(2.0 * bend * total, 1e-300)
            free = 0.9 * 2.0 * spare / (steep + math.sqrt(steep * steep + 4.0 * curve * spare))
            if free >= high - low:
                return (high, high, True) if side == 0 else (low, low, True)
            trimmed = trimmed or free > 1e-3 * (high - low)
            if side == 0:
                low += free
            else:
                high -= free
        if not trimmed:
            return low, high, False
    return low, high, False


@lending
def may_tie(kind, mode, first, second, power, marks, t, input_error):
    """Could the two cluster pairs be exactly equally near at t? False is a proof that not."""
    near = _pairs(kind, mode, first, second, marks, 2)
    far = _pairs(kind, mode, first, second, marks, 3)
    scale, box_cox = _frame_of_reference(mode, near, far, power, t)
    value, _, error, _, _ = _difference(
        kind, mode, box_cox, 1, near, far, power, scale, t, input_error
    )
    return abs(value) <= error


@njit(cache=True, nogil=True)
def _enclose_root(
    kind,
    mode,
    box_cox,
    sign,
    near,
    far,
    power,
    scale,
    low,
    high,
    order_left,
    input_error,
    value,
    slope,
):
    """The one root of a monotone difference: Newton, then certified signs on both sides."""
    root = 0.5 * (low + high)
    error = 0.0
    for _ in range(4):
        if slope == 0.0:
            return low, high
        new = min(max(root - value / slope, low), high)
        moved = abs(new - root)
        root = new
        value, slope, error, _, _ = _difference(
            kind, mode, box_cox, sign, near, far, power, scale, root, input_error
        )
        if moved <= 4.0 * UNIT * (1.0 + abs(root)):
            break
    if slope == 0.0:
        return low, high
    reach = 1.25 * (error + abs(value)) / abs(slope) + 2.0 * UNIT * abs(root)
    new_low = low
    new_high = high
    for side in range(2):
        step = reach
        wanted = order_left if side == 0 else -order_left
        for _ in range(12):
            t = root - step if side == 0 else root + step
            if t <= low or t >= high:
                break
            value, _, error, _, _ = _difference(
                kind, mode, box_cox, sign, near, far, power, scale, t, input_error
            )
            if value * wanted > error:
                if side == 0:
                    new_low = t
                else:
                    new_high = t
                break
            step *= 2.0
    return new_low, new_high


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


@njit(cache=True, nogil=True)
def leaf_bounds(intervals, info, splits):
    """Intervals of the leaves after the zones of their splits were polished.

    A leaf lies on one side of every split above it.  Leaves and splits come in depth-first order,
    so the next split above on the same side is the nearest one with a smaller index.
    """
    m = info.shape[0]
    bounds = intervals.copy()
    limit = np.empty(m)
    stack = np.empty(m, np.int64)
    for side in range(2):
        depth = 0
        for step in range(m):
            i = step if side == 0 else m - 1 - step
            own = info[i, side]
            while depth > 0 and info[stack[depth - 1], side] > own:
                depth -= 1
            if own < 0:
                limit[i] = intervals[i, side]
            elif depth > 0 and info[stack[depth - 1], side] == own:
                limit[i] = limit[stack[depth - 1]]
                depth -= 1
            else:
                limit[i] = splits[own, side]
                if depth > 0 and info[stack[depth - 1], side] >= 0:
                    above = limit[stack[depth - 1]]
                    limit[i] = max(limit[i], above) if side == 0 else min(limit[i], above)
            stack[depth] = i
            depth += 1
            # An edge or a plain cut may lie inside; zones only ever shrink.
            if side == 0:
                bounds[i, 0] = max(intervals[i, 0], limit[i])
            else:
                bounds[i, 1] = min(intervals[i, 1], limit[i])
    return bounds


@njit(cache=True, nogil=True)
def envelope(low, high, least, most):
    """Pointwise smallest and largest rank over overlapping leaves.

    Returns the sorted positions and, for each elementary interval between neighbours, the
    smallest ``least`` and largest ``most`` of the leaves that cover it (-1 if none does).
    """
    m = low.size
    positions = np.unique(np.concatenate((low, high)))
    count = positions.size - 1
    bottom = np.full(max(count, 0), 1 << 62, np.int64)
    top = np.full(max(count, 0), -1, np.int64)
    for i in range(m):
        if not low[i] < high[i]:
            continue
        j = np.searchsorted(positions, low[i])
        while j < count and positions[j] < high[i]:
            bottom[j] = min(bottom[j], least[i])
            top[j] = max(top[j], most[i])
            j += 1
    return positions, bottom, top
