"""Fill a frame on an interval from the pairs of points, in the form that its values need there.

Values are exp(alpha log d), so their order has a sense that depends on the sign of alpha, and near
alpha = 0 they are compared in their Box-Cox form.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.ends import build_logs, ends_error, fill_end
from certune.kernels.frames import (
    AVERAGE,
    ENCLOSURE,
    ENDS,
    build_enclosure,
    build_mean,
    kind_of_values,
    pair_range,
    range_error,
    restrict_frame,
)
from certune.kernels.identities import enclosure_codes
from certune.kernels.series import AFFINE, DEGREE, MOVING, UNIT


@njit(cache=True, nogil=True)
def order_sign(power, box_cox, low, high):
    """+1 if smaller values are nearer on the interval, -1 if larger ones are.

    Values are exp(alpha log d): for alpha < 0 the order flips.  In the AFFINE mode ``power``
    holds the sum of the exponents, with the same rule.
    """
    if box_cox:
        return 1
    return 1 if power[0] + power[1] * (low + 0.5 * (high - low)) > 0 else -1


@njit(cache=True, nogil=True)
def needs_box_cox(mode, power, span, low, high):
    """Say whether alpha is so close to 0 that powers are nearly equal on the interval."""
    if mode == AFFINE:
        return False
    first = power[0] + power[1] * low
    last = power[0] + power[1] * high
    if first <= 0.0 <= last or last <= 0.0 <= first:
        return True
    return min(abs(first), abs(last)) * (1.0 + span) < 0.05


@njit(cache=True, nogil=True)
def build(frame, form, kind, pairs, offset, labels, sizes, span, low, high, smallest, largest):
    """Fill a frame on [low, high] from the point pairs.

    ``smallest`` and ``largest`` are those of `pair_range`, unless distances move.  Returns
    (error, sign, is it in Box-Cox form, centre of the stored logarithms of ENDS).
    """
    mode = pairs.mode
    first = pairs.first
    second = pairs.second
    power = pairs.power
    codes = pairs.codes.view(np.int64)
    box_cox = needs_box_cox(mode, power, span, low, high)
    sign = order_sign(power, box_cox, low, high)
    rate = span * (abs(power[0]) + abs(power[1])) if mode != AFFINE else 1.0
    shift = 16.0 * UNIT * (1.0 + abs(low) + abs(high)) * (1.0 + rate)
    if form == ENDS:
        centre = 1.0 + 0.5 * (largest - smallest)
        error = ends_error(smallest, largest, power, low, high, pairs.input_error)
        if error < np.inf:
            build_logs(frame, first, codes, pairs.ordered, labels, smallest - 1.0)
            slots = np.arange(frame.shape[0])
            for end in range(2):
                alpha = power[0] + power[1] * (high if end == 1 else low)
                fill_end(frame, frame, slots, slots.size, alpha, box_cox, centre, end)
        return error + shift, sign, box_cox, centre
    model_low = low
    model_high = high
    if box_cox and power[1] != 0.0:
        zero = -power[0] / power[1]
        reach = max(abs(low - zero), abs(high - zero))
        model_low = zero - reach
        model_high = zero + reach
    if mode == MOVING:
        smallest, largest = pair_range(mode, first, second, labels, model_low, model_high)
        if not smallest > 0.0:
            return np.inf, sign, box_cox, 0.0
    error, scale = range_error(
        mode,
        box_cox,
        smallest,
        largest,
        first,
        second,
        labels,
        power,
        model_low,
        model_high,
        pairs.input_error,
    )
    if not error < 1e-2:
        return np.inf, sign, box_cox, 0.0
    if form == AVERAGE:
        channels = 1
        build_mean(
            frame,
            mode,
            box_cox,
            first,
            second,
            offset,
            labels,
            sizes,
            power,
            model_low,
            model_high,
            scale,
        )
    else:
        channels = frame.shape[2] // DEGREE
        build_enclosure(
            frame,
            kind_of_values(kind, sign),
            box_cox,
            first,
            second,
            labels,
            power,
            model_low,
            model_high,
            scale,
        )
    if model_low < low or model_high > high:
        everything = np.arange(frame.shape[0])
        restrict_frame(
            frame.copy(),
            frame,
            channels,
            everything,
            everything.size,
            max(0.0, (low - model_low) / (model_high - model_low)),
            min(1.0, (high - model_low) / (model_high - model_low)),
        )
    if mode == MOVING and not _all_positive(frame, channels * DEGREE):
        return np.inf, sign, box_cox, 0.0
    if form == ENCLOSURE:
        enclosure_codes(frame.view(np.int64), sign, first, second, codes, labels, low, high)
    return error + 8.0 * DEGREE * UNIT + shift, sign, box_cox, 0.0


@njit(cache=True, nogil=True)
def _all_positive(frame, lanes):
    """Comparisons of coefficients as integers need this; exponentials have it by themselves."""
    for x in range(frame.shape[0]):
        for z in range(frame.shape[0]):
            for lane in range(lanes):
                if not frame[x, z, lane] > 0.0:
                    return False
    return True
