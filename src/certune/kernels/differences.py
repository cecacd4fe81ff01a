"""The difference of two linkage values near a point, as a polynomial with a proved error.

f(t) > 0 says that (x, y) is nearer than (x, z).  On |t - c| <= h a model is twelve coefficients p
and one bound E: p stays within E of a function that has the sign of f everywhere.  Values are
divided by a common factor near their own size, and across alpha = 0 the Box-Cox form is taken.
Fixed distances and products have exponents affine in t, so their Taylor coefficients are power
sums of the rates, weighted with the values at c: one pass over the pairs, eight at a time.
"""

from __future__ import annotations

import math

import numpy as np

from certune.kernels.linking import linked
from certune.kernels.moving_differences import model_of_moving
from certune.kernels.records import LANES, add_moments
from certune.kernels.series import (
    AFFINE,
    MAXIMUM,
    MEAN,
    MINIMUM,
    POWER,
    TERMS,
    UNIT,
    exponentials,
)

_BOX_COX_BELOW = 0.25  # largest exponent for which powers take their Box-Cox form
_INVERSE_FACTORIALS = np.array([1.0 / math.factorial(k) for k in range(TERMS + 2)])


@linked
def _members(marks, role):
    members = np.empty(marks.size, np.int64)
    count = 0
    for p in range(marks.size):
        members[count] = p
        count += marks[p] == role
    return members[:count]


@linked
def _gather(matrix, rows, columns, out):
    i = 0
    for a in rows:
        row = matrix[a]
        for b in columns:
            out[i] = row[b]
            i += 1


@linked
def _extremes(kind, matrix, rows, columns):
    """The pairs that matter for a minimum or maximum of fixed distances."""
    low = np.inf
    high = -np.inf
    for a in rows:
        row = matrix[a]
        for b in columns:
            low = min(low, row[b])
            high = max(high, row[b])
    pairs = np.zeros((2, 2))
    pairs[0, 0] = high if kind == MAXIMUM else low
    pairs[0, 1] = low if kind == MINIMUM else high
    return pairs


@linked
def pairs_of(kind, mode, first, second, marks):
    """Both parameters of the pairs of x (mark 1) with y (mark 2), and with z (mark 3)."""
    rows = _members(marks, 1)
    near_columns = _members(marks, 2)
    far_columns = _members(marks, 3)
    if kind != MEAN and mode == POWER:
        return _extremes(kind, first, rows, near_columns), _extremes(kind, first, rows, far_columns)
    near = np.empty((2, rows.size * near_columns.size))
    far = np.empty((2, rows.size * far_columns.size))
    for pairs, columns in ((near, near_columns), (far, far_columns)):
        _gather(first, rows, columns, pairs[0])
        if mode != POWER:
            _gather(second, rows, columns, pairs[1])
    return near, far


@linked
def _range(near, far, weight_first, weight_second):
    """Least and largest value of a combination of the two parameters."""
    low = np.inf
    high = -np.inf
    for pairs in (near, far):
        if weight_second == 0.0:
            for i in range(pairs.shape[1]):
                low = min(low, weight_first * pairs[0, i])
                high = max(high, weight_first * pairs[0, i])
        else:
            for i in range(pairs.shape[1]):
                value = weight_first * pairs[0, i] + weight_second * pairs[1, i]
                low = min(low, value)
                high = max(high, value)
    return low, high


@linked
def _add_power_sums(weights, rates, count, shift, factor, out):
    """Add ``factor * sum_i weights[i] * rates[i]**k / (k + shift)!`` to ``out[k]``.

    Arrays are padded with zeros to full lanes.  The sum for k = 0 is compensated.  Returns it.
    """
    sums = np.zeros((TERMS + 1) * LANES)
    for i in range(0, weights.size, LANES):
        add_moments(weights, rates, i, sums)
    leading = 0.0
    for k in range(TERMS):
        total = 0.0
        lost = 0.0
        for lane in range(LANES):
            value = sums[k * LANES + lane]
            new = total + value
            part = new - total
            lost += (total - (new - part)) + (value - part)
            total = new
            if k == 0:
                lost += sums[TERMS * LANES + lane]
        total = (total + lost) / count
        if k == 0:
            leading = total
        out[k] += factor * total * _INVERSE_FACTORIALS[k + shift]
    return leading


@linked
def _padded(count):
    return np.zeros((count + LANES - 1) // LANES * LANES)


@linked
def _model_of_fixed(near, far, power, centre, half, input_error, out):
    """Model of fixed distances to the power alpha = power[0] + power[1] t."""
    low, high = _range(near, far, 1.0, 0.0)
    scale = 0.5 * (low + high)
    spread = 0.5 * (high - low) * (1.0 + 4.0 * UNIT)
    alpha = power[0] + power[1] * centre
    reach = abs(alpha) + abs(power[1]) * half
    size = abs(power[0]) + abs(power[1]) * (abs(centre) + half)
    count = max(near.shape[1], far.shape[1])
    if reach * spread <= _BOX_COX_BELOW:
        # (exp(alpha L) - 1) / alpha = sum_k L (alpha L)^k / (k + 1)!, a polynomial in alpha / reach
        reach = max(reach, 1e-300)
        step = reach * spread
        for factor, pairs in ((-1.0, near), (1.0, far)):
            rates = _padded(pairs.shape[1])
            for i in range(pairs.shape[1]):
                rates[i] = reach * (pairs[0, i] - scale)
            _add_power_sums(rates, rates, pairs.shape[1], 1, factor, out)
        floor = 2.0 * step * 16.0 * UNIT + 2.6 * reach * input_error
        extra = 2.6 * step * step * (count / LANES + 3 * TERMS + 32) * UNIT
        extra += 2.6 * step ** (TERMS + 1) * _INVERSE_FACTORIALS[TERMS + 1]
        return power[0], power[1], 1.0 / reach, floor, extra
    rate = power[1] * half
    if abs(alpha) <= abs(rate):
        return -centre, 1.0, 1.0 / half, np.inf, np.inf
    sign = 1.0 if alpha > 0.0 else -1.0
    total = 0.0
    for factor, pairs in ((-sign, near), (sign, far)):
        weights = _padded(pairs.shape[1])
        rates = _padded(pairs.shape[1])
        for i in range(pairs.shape[1]):
            weights[i] = alpha * (pairs[0, i] - scale)
            rates[i] = rate * (pairs[0, i] - scale)
        exponentials(weights, np.empty(pairs.shape[1], np.int64), pairs.shape[1])
        total += _add_power_sums(weights, rates, pairs.shape[1], 0, factor, out)
    relative = (16.0 + 6.0 * size * spread) * UNIT + (1.0 + reach) * input_error
    floor, extra = _errors(total, relative, abs(rate) * spread, count)
    return -centre, 1.0, 1.0 / half, floor, extra


@linked
def _model_of_products(near, far, centre, half, input_error, out):
    """Model of values exp(A + t B), divided by the exponential of one affine function.

    The smaller value counts as the nearer one here, as for a positive total exponent.
    """
    flattest, steepest = _range(near, far, 0.0, 1.0)
    low, high = _range(near, far, 1.0, centre)
    first_low, first_high = _range(near, far, 1.0, 0.0)
    tilt = 0.5 * (flattest + steepest)
    level = 0.5 * (low + high)
    size = max(abs(first_low), abs(first_high))
    size += abs(centre) * max(abs(flattest), abs(steepest))
    total = 0.0
    for factor, pairs in ((-1.0, near), (1.0, far)):
        weights = _padded(pairs.shape[1])
        rates = _padded(pairs.shape[1])
        for i in range(pairs.shape[1]):
            weights[i] = (pairs[0, i] + centre * pairs[1, i]) - level
            rates[i] = half * (pairs[1, i] - tilt)
        exponentials(weights, np.empty(pairs.shape[1], np.int64), pairs.shape[1])
        total += _add_power_sums(weights, rates, pairs.shape[1], 0, factor, out)
    relative = (16.0 + 6.0 * size) * UNIT + 1.01 * input_error
    step = half * 0.5 * (steepest - flattest) * (1.0 + 4.0 * UNIT)
    floor, extra = _errors(total, relative, step, max(near.shape[1], far.shape[1]))
    return -centre, 1.0, 1.0 / half, floor, extra


@linked
def _errors(total, relative, step, count):
    """Errors of a sum of exponentials with rates of at most ``step``: lasting, and due to width."""
    growth = 1.01 * math.exp(min(step, 600.0)) * total
    rounding = (count / LANES + 3 * TERMS + 32) * UNIT
    tail = step**TERMS * _INVERSE_FACTORIALS[TERMS]
    lasting = 1.01 * relative * total
    return lasting, growth * (step * (rounding + relative) + tail)


@linked
def difference_model(kind, mode, near, far, power, centre, half, input_error, out):
    """Model of the difference on |t - centre| <= half: coefficients of powers of u in ``out``.

    Returns (a, b, s, floor, error): u = (a + b t) s, the bound E of the error, and the part of it
    that stays on narrower intervals.  E is infinite if there is no model.  For products with a
    negative total exponent the difference has the opposite sign.
    """
    out[:] = 0.0
    if mode == POWER:
        a, b, s, floor, extra = _model_of_fixed(near, far, power, centre, half, input_error, out)
    elif mode == AFFINE:
        a, b, s, floor, extra = _model_of_products(near, far, centre, half, input_error, out)
    else:
        a, b, s, floor, extra = model_of_moving(
            kind, near, far, power, centre, half, input_error, out
        )
    size = 0.0
    slope = 0.0
    for k in range(TERMS):
        size += abs(out[k])
        slope += k * abs(out[k])
    # Horner's rule, and the rounding of u: t moves by a few units of its last place.
    moved = (abs(a) + abs(b) * (abs(centre) + half)) * s
    reading = (2.0 * TERMS * size + 4.0 * (1.0 + moved) * slope) * UNIT
    return a, b, s, floor + reading, 1.01 * (floor + extra + reading)


@linked
def evaluated(coefficients, u):
    """Value and derivative of a polynomial."""
    value = 0.0
    slope = 0.0
    for k in range(TERMS - 1, -1, -1):
        slope = slope * u + value
        value = value * u + coefficients[k]
    return value, slope
