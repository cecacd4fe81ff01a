"""Frames of minima and maxima of fixed distances: only the values at the two ends.

The value of a cluster pair is ``exp(alpha log dmin) + exp(alpha log dmax)`` (or one of the two).
Of two such values either one is larger at every alpha, because both its logarithms are, or their
logarithms are nested; then the difference is an exponential sum whose coefficients, in the order
of the exponents, change sign twice, so it has at most two real roots counted with multiplicity
(Descartes), and one of them is alpha = 0.  Hence on an interval on one side of 0 equal signs at
both ends hold in between, and different signs mean exactly one root.  Divided by alpha (the
Box-Cox form ``(d**alpha - 1) / alpha``) the root at 0 disappears, and the same is true on every
interval.  No polynomials are needed and the error is that of a few roundings.

A record has the lanes ``(min low, min high, log min, code min, max low, max high, log max, code
max)``: the smaller and the larger value at the low and the high end, the logarithms of the
extreme distances (shifted to be positive) and their codes as integers.  As integers all lanes are
ordered like what they stand for: merging keeps the minimum of the first four and the maximum of
the others, whatever the sign of alpha.
"""

from __future__ import annotations

import math

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.compare import CROSSING, FARTHER, NEARER, TOO_WIDE
from certune.kernels.frames import members_by_slot
from certune.kernels.linking import linked
from certune.kernels.records import extreme_records, move_record, place_record
from certune.kernels.series import MINIMUM, MINMAX, UNIT, exponentials

QUOTIENT_TERMS = np.array([1.0 / math.factorial(k + 1) for k in range(23, -1, -1)])
UNKNOWN_CODE = np.int64(-(2**63))  # stands for code 0: the extreme pair is not certain


@borrowing
def quotient(y):
    """expm1(y) / y, within 8 UNIT relatively."""
    if abs(y) > 1e-5:
        return math.expm1(y) / y
    return 1.0 + y * (0.5 + y * (1.0 / 6.0 + y * (1.0 / 24.0)))


@borrowing
def end_value(alpha, box_cox, centre, log_distance):
    """Value of one distance at alpha; ``log_distance`` as stored, ``centre`` the common scale."""
    if box_cox:
        return log_distance * quotient(alpha * log_distance)
    return math.exp(alpha * (log_distance - centre))


@linked
def end_values(alpha, box_cox, centre, largest, values, exponents, count):
    """Replace stored logarithms (at most ``largest``) by their values at alpha; vectorises."""
    if not box_cox:
        for i in range(count):
            values[i] = alpha * (values[i] - centre)
        exponentials(values, exponents, count)
    elif abs(alpha) * largest <= 2.0:
        # The Taylor series of expm1(y) / y; its terms cancel to 1/8 of their size at most.
        for i in range(count):
            y = alpha * values[i]
            total = 0.0
            for k in range(QUOTIENT_TERMS.size):
                total = total * y + QUOTIENT_TERMS[k]
            values[i] *= total
    else:
        for i in range(count):
            values[i] *= quotient(alpha * values[i])


@linked
def ends_error(smallest, largest, power, low, high, input_error):
    """Relative error of the values at the ends; infinite if they leave double precision."""
    size = largest - smallest + 2.0
    reach = max(abs(power[0] + power[1] * low), abs(power[0] + power[1] * high))
    if not reach * size < 650.0:
        return np.inf
    return input_error * (1.0 + reach) + 8.0 * UNIT * (8.0 + reach * size)


@linked
def build_logs(frame, first, codes, ordered, labels, shift):
    """Fill the lanes of logarithms and codes from the point pairs."""
    slots = frame.shape[0]
    bits = frame.view(np.int64)
    flat_bits = bits.reshape(bits.size)
    members, start = members_by_slot(labels, slots)
    frame[:] = 1.0
    for x in range(slots):
        for z in range(x + 1, slots):
            a = members[start[x]]
            b = members[start[z]]
            log_min = log_max = first[a, b]
            code_min = code_max = codes[a, b] ^ UNKNOWN_CODE
            if start[x + 1] - start[x] + start[z + 1] - start[z] > 2:
                for i in range(start[x], start[x + 1]):
                    for j in range(start[z], start[z + 1]):
                        a = members[i]
                        b = members[j]
                        value = first[a, b]
                        code = codes[a, b] ^ UNKNOWN_CODE
                        if ordered:
                            code_min = min(code_min, code)
                            code_max = max(code_max, code)
                        else:
                            code_min = joint_code(code_min, code, log_min, value, 1e-13)
                            code_max = joint_code(code_max, code, value, log_max, 1e-13)
                        log_min = min(log_min, value)
                        log_max = max(log_max, value)
            frame[x, z, 2] = log_min - shift
            frame[x, z, 6] = log_max - shift
            bits[x, z, 3] = code_min
            bits[x, z, 7] = code_max
            move_record(flat_bits, (x * slots + z) * 8, flat_bits, (z * slots + x) * 8)


@borrowing
def joint_code(code, other, value, rival, margin):
    """Code of the smaller of two logarithms (codes not ordered), unknown if they are too close.

    For the larger one, exchange ``value`` and ``rival``.
    """
    if code == other:
        return code
    margin *= 1.0 + abs(value) + abs(rival)
    if value < rival - margin:
        return code
    if rival < value - margin:
        return other
    return UNKNOWN_CODE


@linked
def fill_end(source, target, active, n_active, alpha, box_cox, centre, lane):
    """Copy the records of the active slots with new values at one end (lane 0: low, 1: high).

    ``source`` and ``target`` may be the same frame if every slot is active.
    """
    slots = source.shape[0]
    old = source.reshape(source.size)
    new = target.reshape(target.size)
    values = np.empty(2 * n_active)
    exponents = np.empty(2 * n_active, np.int64)
    flipped = not box_cox and alpha < 0.0
    roles = np.zeros(8, np.int64)
    roles[lane + 4 if flipped else lane] = 1
    roles[lane if flipped else lane + 4] = 2
    for i in range(n_active):
        target[i, i] = 1.0
        begin = i + 1
        count = n_active - begin
        start = active[i] * slots
        row = source[active[i]]
        largest = 0.0
        for j in range(count):
            z = active[begin + j]
            values[j] = row[z, 2]
            values[count + j] = row[z, 6]
            largest = max(largest, row[z, 6])
        end_values(alpha, box_cox, centre, largest, values, exponents, 2 * count)
        for j in range(count):
            place_record(
                old,
                (start + active[begin + j]) * 8,
                values[j],
                values[count + j],
                roles,
                new,
                (i * n_active + begin + j) * 8,
                ((begin + j) * n_active + i) * 8,
            )


@linked
def build_point_ends(frame, values, labels):
    """Fill the lanes of values from the values of the point pairs at one parameter."""
    slots = frame.shape[0]
    members, start = members_by_slot(labels, slots)
    for x in range(slots):
        for z in range(slots):
            if x == z:
                continue
            smallest = np.inf
            largest = 0.0
            for i in range(start[x], start[x + 1]):
                for j in range(start[z], start[z + 1]):
                    value = values[members[i], members[j]]
                    smallest = min(smallest, value)
                    largest = max(largest, value)
            frame[x, z, 0] = smallest
            frame[x, z, 1] = smallest
            frame[x, z, 4] = largest
            frame[x, z, 5] = largest


@borrowing
def union_of_ends(flat, bits, ordered, error, first, second, target, mirror):
    """Put the record of a union at ``target`` and ``mirror``, from those of its parts."""
    code_min = code_max = np.int64(0)
    if not ordered:
        code_min = joint_code(
            bits[first + 3], bits[second + 3], flat[first + 2], flat[second + 2], 4.0 * error
        )
        code_max = joint_code(
            bits[first + 7], bits[second + 7], flat[second + 6], flat[first + 6], 4.0 * error
        )
    extreme_records(bits, first, second, target, mirror)
    if not ordered:
        bits[target + 3] = bits[mirror + 3] = code_min
        bits[target + 7] = bits[mirror + 7] = code_max


@borrowing
def merge_ends(frame, flat, bits, ordered, error, x, y, active, n_active):
    """Put the union of slots x and y into slot x; slot y must have left ``active``.

    ``flat`` and ``bits`` are the frame as flat numbers and integers.
    """
    slots = frame.shape[0]
    for i in range(n_active):
        z = active[i]
        here = (x * slots + z) * 8
        there = (y * slots + z) * 8
        union_of_ends(flat, bits, ordered, error, here, there, here, (z * slots + x) * 8)


@borrowing
def _value_inside(frame, kind, x, z, alpha, box_cox, centre):
    small = end_value(alpha, box_cox, centre, frame[x, z, 2])
    large = end_value(alpha, box_cox, centre, frame[x, z, 6])
    low = min(small, large)
    high = max(small, large)
    if kind == MINMAX:
        return low + high
    return low if kind == MINIMUM else high


@borrowing
def _order_inside(frame, kind, sign, x, y, z, error, power, low, width, box_cox, centre, u):
    """(difference of the values, its sign if proved else 0) at ``low + u * width``."""
    alpha = power[0] + power[1] * (low + u * width)
    first = _value_inside(frame, kind, x, y, alpha, box_cox, centre)
    second = _value_inside(frame, kind, x, z, alpha, box_cox, centre)
    difference = sign * (second - first)
    bound = (error + 4.0 * UNIT) * (first + second)
    if difference > bound:
        return difference, 1
    if difference < -bound:
        return difference, -1
    return difference, 0


@borrowing
def narrow_ends(frame, kind, sign, x, y, z, error, power, t, box_cox, centre, end, nearer, farther):
    """Replace the evidence at one end of the frame's interval by that at t inside it."""
    alpha = power[0] + power[1] * t
    first = _value_inside(frame, kind, x, y, alpha, box_cox, centre)
    second = _value_inside(frame, kind, x, z, alpha, box_cox, centre)
    bound = (error + 4.0 * UNIT) * (first + second)
    nearer[end] = sign * (second - first) - bound
    farther[end] = sign * (first - second) - bound


@borrowing
def locate_ends(
    frame, kind, sign, x, y, z, error, power, low, width, box_cox, centre, left, right, zone
):
    """Find the zone where the order changes, given the orders proved at the ends (0: none).

    At most one root: an order proved at a point holds up to the end where the same is proved.
    """
    if left == 0 and right == 0:
        return TOO_WIDE
    if left == right:
        return NEARER if left > 0 else FARTHER
    if left == 0 or right == 0:
        # The root is near the undecided end: step away from it until the order is proved.
        step = 4.0 * UNIT
        known = right if left == 0 else left
        while step < 0.5:
            u = step if left == 0 else 1.0 - step
            _, order = _order_inside(
                frame, kind, sign, x, y, z, error, power, low, width, box_cox, centre, u
            )
            if order == known:
                zone[0] = 0.0 if left == 0 else u
                zone[1] = u if left == 0 else 1.0
                zone[2] = left if left != 0 else -right
                zone[3] = right if right != 0 else -left
                return CROSSING
            if order == -known:
                break
            step *= 4.0
        if step >= 0.5:
            return TOO_WIDE
        # The one root lies further inside, so the order at this end is the opposite one.
        if left == 0:
            left = -right
        else:
            right = -left
    below = 0.0
    above = 1.0
    at_below, _ = _order_inside(
        frame, kind, sign, x, y, z, error, power, low, width, box_cox, centre, 0.0
    )
    at_above, _ = _order_inside(
        frame, kind, sign, x, y, z, error, power, low, width, box_cox, centre, 1.0
    )
    side = 0
    for _ in range(60):
        if above - below < 1e-14:
            break
        u = 0.5 * (below + above)
        if at_below != at_above:
            guess = (below * at_above - above * at_below) / (at_above - at_below)
            if below < guess < above:
                u = guess
        value, order = _order_inside(
            frame, kind, sign, x, y, z, error, power, low, width, box_cox, centre, u
        )
        if order == 0:
            below = u
            above = u
            break
        if order == left:
            below = u
            at_below = value
            if side == 1:
                at_above *= 0.5
            side = 1
        else:
            above = u
            at_above = value
            if side == -1:
                at_below *= 0.5
            side = -1
    margin = max(above - below, 4.0 * UNIT)
    proved_low = 0.0
    proved_high = 1.0
    for _ in range(40):
        u = max(0.0, below - margin)
        _, order = _order_inside(
            frame, kind, sign, x, y, z, error, power, low, width, box_cox, centre, u
        )
        proved_low = u
        if u == 0.0 or order == left:
            break
        margin *= 4.0
    margin = max(above - below, 4.0 * UNIT)
    for _ in range(40):
        u = min(1.0, above + margin)
        _, order = _order_inside(
            frame, kind, sign, x, y, z, error, power, low, width, box_cox, centre, u
        )
        proved_high = u
        if u == 1.0 or order == right:
            break
        margin *= 4.0
    zone[0] = proved_low
    zone[1] = proved_high
    zone[2] = left
    zone[3] = right
    return CROSSING
