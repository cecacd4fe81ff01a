"""Averages that meet at an end of the course, where an exponent vanishes: their order beside it.

There all pairs of points that agree in the other metrics have the same value, which makes many
averages equal at once; no model, however accurate, tells their order next to the end.  Codes that
hold at that end prove that two averages are equal there, and the slope of their difference decides.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import AGAIN, HOLDS, UNCLEAR, WRONG
from certune.kernels.identities import list_members, same_with
from certune.kernels.series import UNIT

Codes = NDArray[np.uint64]


class Meetings(NamedTuple):
    """The ends of a course, and codes (none, or one for each pair of points) of values there.

    Codes may be *exact*: the values themselves, as integers, up to a common factor.
    """

    low: float
    high: float
    low_codes: Codes
    high_codes: Codes
    low_exact: bool
    high_exact: bool


@borrowing
def _same_sums(forest, row, near, rival, values):
    """Are the averages of (row, near) and (row, rival) equal? Sums of integers do not overflow."""
    sums = (np.uint64(0), np.uint64(0))
    for other in (near, rival):
        total = np.uint64(0)
        for i in range(forest.size[row]):
            a = forest.members[row, i]
            for j in range(forest.size[other]):
                total += values[a, forest.members[other, j]]
        sums = (sums[1], total)
    return sums[0] * np.uint64(forest.size[rival]) == sums[1] * np.uint64(forest.size[near])


@borrowing
def _slope_beside(pairs, forest, row, near, rival, end, distance):
    """Sign of the slope of (row, rival) less (row, near), equal at ``end``, or 0 if unknown.

    It is that of (difference at t) / (t - end) for all t up to ``distance`` away.  With values
    e = exp(phi) at the end and slopes v of phi, less a common one, the quotient is the sum of
    e v (exp(y) - 1) / y, y = (t - end) v, as equal sums of e cancel; up to a common factor.
    """
    first = pairs.first
    second = pairs.second
    size = forest.size[row]
    largest = -np.inf
    reach = 0.0
    steepest = -np.inf
    flattest = np.inf
    for other in (near, rival):
        for i in range(size):
            a = forest.members[row, i]
            for j in range(forest.size[other]):
                b = forest.members[other, j]
                step = end * second[a, b]
                largest = max(largest, first[a, b] + step)
                reach = max(reach, abs(first[a, b]) + abs(step))
                steepest = max(steepest, second[a, b])
                flattest = min(flattest, second[a, b])
    common = 0.5 * (steepest + flattest)
    half = steepest - common + 4.0 * UNIT * (abs(steepest) + abs(flattest))
    if not half * distance < 1.0:
        return 0
    total = 0.0
    sizes = 0.0  # of the values
    terms = 0.0  # ... times their slopes
    for other in (near, rival):
        weight = 1.0 / forest.size[other]
        side = weight if other == rival else -weight
        for i in range(size):
            a = forest.members[row, i]
            for j in range(forest.size[other]):
                b = forest.members[other, j]
                value = math.exp(first[a, b] + end * second[a, b] - largest)
                slope = second[a, b] - common
                total += side * value * slope
                sizes += weight * value
                terms += weight * value * abs(slope)
    count = size * (forest.size[near] + forest.size[rival])
    # Values are wrong by the errors of phi and their own rounding, the end by a float's spacing.
    wrong = pairs.input_error + UNIT * (4.0 * reach + 2.0 * count + 32.0)
    wrong += 2.0 * UNIT * max(1.0, abs(end)) * (abs(steepest) + abs(flattest))
    wrong_slope = pairs.input_error + 4.0 * UNIT * (abs(steepest) + abs(flattest))
    # |(exp(y) - 1) / y - 1| <= |y| exp(|y|) / 2 <= 1.4 |y| where |y| <= 1.
    bound = terms * (wrong + 1.4 * half * distance) + sizes * wrong_slope
    if abs(total) > 1.01 * bound:
        return 1 if total > 0.0 else -1
    return 0


@borrowing
def _order_beside(panel, state, side, row, near, rival, until):
    """Order of (row, near) and (row, rival) between ``until`` and an end where they meet.

    ``side`` is 1 if that is the low end, else -1; the place itself may lie between two floats.
    """
    meetings = state.meetings
    end = meetings.low if side > 0 else meetings.high
    codes = meetings.low_codes if side > 0 else meetings.high_codes
    if codes.size == 0:
        return 0
    if meetings.low_exact if side > 0 else meetings.high_exact:
        same = _same_sums(state.forest, row, near, rival, codes)
    else:
        list_members(state.forest, state.merging, row, near, rival)
        same = same_with(panel, state.merging, state.desk, codes)
    if not same:
        return 0
    distance = abs(until - end) * (1.0 + 4.0 * UNIT) + 2.0 * UNIT * max(1.0, abs(end))
    slope = _slope_beside(state.pairs, state.forest, row, near, rival, end, distance)
    return panel.sign * side * slope


@borrowing
def judge_meeting(panel, state, row, near, rival, t, code, low, high):
    """Decide what `judge` left open from t on because the averages meet at an end of the course.

    Returns the code and the zone as it does, or what it returned.
    """
    to_the_end = panel.stop == state.meetings.high and high >= panel.stop
    if (code == UNCLEAR or code == AGAIN) and to_the_end:
        order = _order_beside(panel, state, -1, row, near, rival, low)
        if order > 0:
            return HOLDS, panel.stop, panel.stop
        if order < 0 and code == UNCLEAR:
            return WRONG, t, t
    if code == UNCLEAR:
        order = _order_beside(panel, state, 1, row, near, rival, high)
        if order < 0:
            return WRONG, t, t
        # Behind its zone `judge` knows the order.
        if order > 0 and (high >= panel.stop or state.desk.zone[3] > 0.0):
            return HOLDS, panel.stop, panel.stop
    return code, low, high
