"""The difference of two linkage values whose distances move: see `certune.kernels.differences`.

A pair has d(t) = A + t B and the value d**alpha, alpha affine in t.  Its Taylor coefficients come
from a recursion, and the tail from Cauchy's estimate on discs where no distance vanishes.
"""

from __future__ import annotations

import math

import numpy as np

from certune.kernels.linking import linked
from certune.kernels.series import MAXIMUM, MEAN, MINIMUM, TERMS, UNIT, moving_series

_BOX_COX_BELOW = 0.25


@linked
def _lasting_extremes(kind, pairs, low, high):
    """The pairs of least and largest distance at both ends, hence between; empty if they change."""
    chosen = np.empty((2, 2))
    count = 0
    for side in range(2):
        if kind == (MAXIMUM if side == 0 else MINIMUM):
            continue
        direction = 1.0 if side == 0 else -1.0
        best_low = np.inf
        best_high = np.inf
        for i in range(pairs.shape[1]):
            best_low = min(best_low, direction * (pairs[0, i] + low * pairs[1, i]))
            best_high = min(best_high, direction * (pairs[0, i] + high * pairs[1, i]))
        found = False
        for i in range(pairs.shape[1]):
            at_low = direction * (pairs[0, i] + low * pairs[1, i])
            at_high = direction * (pairs[0, i] + high * pairs[1, i])
            if at_low == best_low and at_high == best_high:
                for row in range(pairs.shape[0]):
                    chosen[row, count] = pairs[row, i]
                found = True
                break
        if not found:
            return chosen[:, :0]
        count += 1
    return chosen[:, :count]


@linked
def _extent(near, far, centre):
    """Logarithms of the least and largest distance at the centre, and the largest |d' / d|."""
    least = np.inf
    most = 0.0
    ratio = 0.0
    for pairs in (near, far):
        for i in range(pairs.shape[1]):
            distance = pairs[0, i] + centre * pairs[1, i]
            if distance <= 0.0:
                return 0.0, 0.0, np.inf
            least = min(least, distance)
            most = max(most, distance)
            ratio = max(ratio, abs(pairs[1, i]) / distance)
    return math.log(least), math.log(most), ratio * (1.0 + 8.0 * UNIT)


@linked
def _rest(half, ratio, alpha, alpha_rate, spread, box_cox):
    """Cauchy's bounds of all terms but the first, and of all terms beyond TERMS, at |u| <= 1.

    They are relative to the value at the centre, or absolute in the Box-Cox form.
    """
    variation = np.inf
    tail = np.inf
    radius = 1.25 * half
    for _ in range(60):
        if ratio * radius >= 1.0:
            break
        growth = -math.log1p(-ratio * radius)
        if box_cox:
            exponent = (alpha + alpha_rate * radius) * (spread + growth)
            bound = spread + growth
        else:
            exponent = alpha * growth + alpha_rate * radius * (spread + growth)
            bound = 1.0
        if exponent > 600.0:
            break
        bound *= 1.01 * math.exp(exponent)
        quotient = half / radius
        variation = min(variation, bound * quotient / (1.0 - quotient))
        tail = min(tail, bound * quotient**TERMS / (1.0 - quotient))
        radius *= 1.5
    return variation, tail


@linked
def _add_mean(pairs, factor, centre, half, scale, alpha, alpha_rate, box_cox, divide, out):
    """Add the Taylor coefficients (times h**k) of the mean value; returns the one at the centre."""
    unit = math.exp(-scale)
    series = np.empty(TERMS)
    work = np.empty(TERMS + 1)
    total = 0.0
    lost = 0.0
    count = pairs.shape[1]
    sums = np.zeros(TERMS)
    for i in range(count):
        distance = (pairs[0, i] + centre * pairs[1, i]) * unit
        moving_series(
            distance,
            pairs[1, i] * unit,
            alpha,
            alpha_rate,
            half,
            box_cox and not divide,
            series,
            work,
        )
        if divide:
            # (exp(y) - 1) / alpha, term by term, by the affine function alpha
            series[0] = math.expm1(alpha * math.log(distance)) / alpha
            for k in range(1, TERMS):
                series[k] = (series[k] - alpha_rate * half * series[k - 1]) / alpha
        value = series[0]
        new = total + value
        part = new - total
        lost += (total - (new - part)) + (value - part)
        total = new
        for k in range(1, TERMS):
            sums[k] += series[k]
    sums[0] = total + lost
    for k in range(TERMS):
        out[k] += factor * (sums[k] / count)
    return sums[0] / count


@linked
def _model(near, far, power, centre, half, input_error, box_cox, out):
    alpha = power[0] + power[1] * centre
    divide = False
    if box_cox:
        divide = 2.0 * abs(power[1]) * half <= abs(alpha) and alpha != 0.0
        if not divide:
            if power[1] != 0.0:
                zero = -power[0] / power[1]
                half = (half + abs(centre - zero)) * (1.0 + 4.0 * UNIT)
                centre = zero
            alpha = 0.0
    elif abs(alpha) <= abs(power[1]) * half:
        return -centre, 1.0, 1.0 / half, np.inf, np.inf
    low, high, ratio = _extent(near, far, centre)
    if not ratio * half < 0.5:
        return -centre, 1.0, 1.0 / half, np.inf, np.inf
    scale = 0.5 * (low + high)
    spread = 0.5 * (high - low) + 8.0 * UNIT * (1.0 + abs(scale))
    reach = abs(alpha) + abs(power[1]) * half
    size = abs(power[0]) + abs(power[1]) * (abs(centre) + half)
    sign = 1.0 if box_cox or alpha > 0.0 else -1.0
    out[:] = 0.0
    total = 0.0
    for factor, pairs in ((-sign, near), (sign, far)):
        total += _add_mean(
            pairs, factor, centre, half, scale, alpha, power[1], box_cox, divide, out
        )
    variation, tail = _rest(half, ratio, abs(alpha), abs(power[1]), spread, box_cox)
    rounding = (8 * TERMS + 128 + max(near.shape[1], far.shape[1])) * UNIT
    growth = spread - math.log1p(-ratio * half)
    if box_cox:
        # d g / d log d = d**alpha, and |d g / d alpha| <= (log d)^2 d**|alpha|
        stretch = 1.01 * math.exp(reach * growth)
        inputs = 3.0 * input_error + 8.0 * UNIT * (2.0 + spread + size * growth * growth)
        return -centre, 1.0, 1.0 / half, 2.0 * stretch * inputs, 2.0 * (rounding * variation + tail)
    relative = 3.0 * (1.0 + reach) * input_error + (16.0 + 8.0 * size * (1.0 + growth)) * UNIT
    extra = total * ((rounding + relative) * variation + tail)
    return -centre, 1.0, 1.0 / half, 1.01 * relative * total, extra


@linked
def model_of_moving(kind, near, far, power, centre, half, input_error, out):
    """Model of moving distances; see `certune.kernels.differences.difference_model`."""
    if kind != MEAN:
        near = _lasting_extremes(kind, near, centre - half, centre + half)
        far = _lasting_extremes(kind, far, centre - half, centre + half)
        if near.shape[1] == 0 or far.shape[1] == 0:
            return -centre, 1.0, 1.0 / half, np.inf, np.inf
    low, high, ratio = _extent(near, far, centre)
    reach = abs(power[0] + power[1] * centre) + abs(power[1]) * half
    if ratio * half < 0.5 and reach * (0.5 * (high - low) + 2.0 * ratio * half) <= _BOX_COX_BELOW:
        found = _model(near, far, power, centre, half, input_error, True, out)
        if found[3] + found[4] < np.inf:
            return found
    return _model(near, far, power, centre, half, input_error, False, out)
