"""Fill a frame on an interval from the pairs of points, in the form that its values need there.

Values are exp(alpha log d), so their order has a sense that depends on the sign of alpha, and near
alpha = 0 they are compared in their Box-Cox form.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.enclosures import build_enclosure
from certune.kernels.ends import build_logs, ends_error, fill_end
from certune.kernels.frames import (
    AVERAGE,
    ENDS,
    build_mean,
    kind_of_values,
    pair_range,
    range_error,
    record_places,
    restrict_frame,
    restriction,
    row_start,
)
from certune.kernels.identities import enclosure_codes
from certune.kernels.linking import linked
from certune.kernels.records import transform_record
from certune.kernels.series import AFFINE, DEGREE, MOVING, UNIT


@linked
def order_sign(power, box_cox, low, high):
    """+1 if smaller values are nearer on the interval, -1 if larger ones are.

    Values are exp(alpha log d): for alpha < 0 the order flips.  In the AFFINE mode ``power``
    holds the sum of the exponents, with the same rule.
    """
    if box_cox:
        return 1
    return 1 if power[0] + power[1] * (low + 0.5 * (high - low)) > 0 else -1


@linked
def needs_box_cox(mode, power, span, low, high):
    """Say whether alpha is so close to 0 that powers are nearly equal on the interval."""
    if mode == AFFINE:
        return False
    first = power[0] + power[1] * low
    last = power[0] + power[1] * high
    if first <= 0.0 <= last or last <= 0.0 <= first:
        return True
    return min(abs(first), abs(last)) * (1.0 + span) < 0.05


@linked
def last_joint_panel(mode, power, span, panels, ends, panel):
    """Find the last of the panels that ENDS need not tell apart.

    ENDS know no width, only the sign of alpha and whether powers need their Box-Cox form.
    """
    box_cox = needs_box_cox(mode, power, span, panels[panel, 0], panels[panel, 1])
    while (
        not box_cox
        and panel + 1 < panels.shape[0]
        and not ends[panel, 1]
        and panels[panel, 1] == panels[panel + 1, 0]
        and not needs_box_cox(mode, power, span, panels[panel + 1, 0], panels[panel + 1, 1])
    ):
        panel += 1
    return panel


@linked
def _model_interval(power, box_cox, low, high):
    """Interval of the models: that of the panel, or a centred one around a zero of alpha."""
    if not box_cox or power[1] == 0.0:
        return low, high
    zero = -power[0] / power[1]
    reach = max(abs(low - zero), abs(high - zero))
    return zero - reach, zero + reach


@linked
def _shift_error(pairs, span, low, high):
    """Relative error of values that comes from the rounding of t itself."""
    power = pairs.power
    rate = span * (abs(power[0]) + abs(power[1])) if pairs.mode != AFFINE else 1.0
    return 16.0 * UNIT * (1.0 + abs(low) + abs(high)) * (1.0 + rate)


@linked
def _plan(pairs, labels, span, low, high, smallest, largest):
    """How values are modelled on [low, high]; ``smallest`` and ``largest`` as for `build`.

    Around a zero of alpha the Box-Cox form needs an interval that holds it.  If distances are not
    positive on all of that, the other form has to do where alpha has one sign.  Returns (error,
    scale, sign, is it in Box-Cox form, low and high end of the models).
    """
    mode = pairs.mode
    power = pairs.power
    box_cox = needs_box_cox(mode, power, span, low, high)
    model_low, model_high = _model_interval(power, box_cox, low, high)
    if mode == MOVING:
        smallest, largest = pair_range(
            mode, pairs.first, pairs.second, labels, model_low, model_high
        )
        if box_cox and not smallest > 0.0:
            box_cox = not (power[0] + power[1] * low) * (power[0] + power[1] * high) > 0.0
            model_low, model_high = _model_interval(power, box_cox, low, high)
            smallest, largest = pair_range(
                mode, pairs.first, pairs.second, labels, model_low, model_high
            )
    sign = order_sign(power, box_cox, low, high)
    if mode == MOVING and not smallest > 0.0:
        return np.inf, 0.0, sign, box_cox, model_low, model_high
    error, scale = range_error(
        mode,
        box_cox,
        smallest,
        largest,
        pairs.first,
        pairs.second,
        labels,
        power,
        model_low,
        model_high,
        pairs.input_error,
    )
    if not error < 1e-2:
        error = np.inf
    return error, scale, sign, box_cox, model_low, model_high


@linked
def build_averages(
    flat, mirrored, pairs, offset, labels, sizes, span, low, high, smallest, largest
):
    """Fill records of averages on [low, high]; see `build_mean` and `build`.

    Returns (error, sign, is it in Box-Cox form).
    """
    mode = pairs.mode
    power = pairs.power
    error, scale, sign, box_cox, model_low, model_high = _plan(
        pairs, labels, span, low, high, smallest, largest
    )
    if error == np.inf:
        return error, sign, box_cox
    build_mean(
        flat,
        mirrored,
        mode,
        box_cox,
        pairs.first,
        pairs.second,
        offset,
        labels,
        sizes,
        power,
        model_low,
        model_high,
        scale,
    )
    if model_low < low or model_high > high:
        matrix = restriction(
            max(0.0, (low - model_low) / (model_high - model_low)),
            min(1.0, (high - model_low) / (model_high - model_low)),
        )
        for x in range(sizes.size):
            for z in range(x):
                here, there = record_places(mirrored, sizes.size, x, z)
                transform_record(flat, here, matrix, flat, here, there)
    if mode == MOVING:
        # Comparisons of coefficients as integers need this; exponentials have it by themselves.
        for x in range(sizes.size):
            begin = row_start(mirrored, sizes.size, x)
            for i in range(begin, begin + x * DEGREE):
                if not flat[i] > 0.0:
                    return np.inf, sign, box_cox
    return error + 8.0 * DEGREE * UNIT + _shift_error(pairs, span, low, high), sign, box_cox


@linked
def fill_ends(frame, pairs, span, low, high, smallest, largest):
    """Fill the values at both ends of a frame of ENDS, whose logarithms are filled; see `build`."""
    power = pairs.power
    box_cox = needs_box_cox(pairs.mode, power, span, low, high)
    centre = 1.0 + 0.5 * (largest - smallest)
    error = ends_error(smallest, largest, power, low, high, pairs.input_error)
    if error < np.inf:
        slots = np.arange(frame.shape[0])
        for end in range(2):
            alpha = power[0] + power[1] * (high if end == 1 else low)
            fill_end(frame, frame, slots, slots.size, alpha, box_cox, centre, end)
    sign = order_sign(power, box_cox, low, high)
    return error + _shift_error(pairs, span, low, high), sign, box_cox, centre


@linked
def build(frame, form, kind, pairs, offset, labels, sizes, span, low, high, smallest, largest):
    """Fill a frame on [low, high] from the point pairs.

    ``smallest`` and ``largest`` are those of `pair_range`, unless distances move.  Returns
    (error, sign, is it in Box-Cox form, centre of the stored logarithms of ENDS).
    """
    if form == AVERAGE:
        error, sign, box_cox = build_averages(
            frame.reshape(frame.size),
            True,
            pairs,
            offset,
            labels,
            sizes,
            span,
            low,
            high,
            smallest,
            largest,
        )
        return error, sign, box_cox, 0.0
    first = pairs.first
    second = pairs.second
    power = pairs.power
    codes = pairs.codes.view(np.int64)
    if form == ENDS:
        build_logs(frame, first, codes, pairs.ordered, labels, smallest - 1.0)
        return fill_ends(frame, pairs, span, low, high, smallest, largest)
    error, scale, sign, box_cox, model_low, model_high = _plan(
        pairs, labels, span, low, high, smallest, largest
    )
    if error == np.inf:
        return error, sign, box_cox, 0.0
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
    if not _all_positive(frame, channels * DEGREE):
        return np.inf, sign, box_cox, 0.0
    enclosure_codes(frame.view(np.int64), sign, first, second, codes, labels, low, high)
    error += 8.0 * DEGREE * UNIT + _shift_error(pairs, span, low, high)
    return error, sign, box_cox, 0.0


@linked
def _all_positive(frame, lanes):
    """Comparisons of coefficients as integers need this."""
    for x in range(frame.shape[0]):
        for z in range(frame.shape[0]):
            for lane in range(lanes):
                if not frame[x, z, lane] > 0.0:
                    return False
    return True
