"""Frames of minima and maxima of moving distances, enclosed channel by channel.

The pair that attains a minimum may change inside the interval; see `certune.kernels.frames`.
"""

from __future__ import annotations

import math

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.frames import add_series, members_by_slot
from certune.kernels.linking import linked
from certune.kernels.series import DEGREE, MINIMUM, MINMAX, TERMS, moving_series


@linked
def build_enclosure(frame, kind, box_cox, first, second, labels, power, low, high, scale):
    """Fill a frame of enclosed minima and maxima on [low, high] from the moving point pairs."""
    slots = frame.shape[0]
    channels = (frame.shape[2] - 2) // DEGREE
    half = 0.5 * (high - low)
    centre = low + half
    at_centre = power[0] + power[1] * centre
    model = np.empty(DEGREE)
    series = np.empty(TERMS)
    work = np.empty(TERMS + 1)
    unscale = math.exp(-scale)
    members, start = members_by_slot(labels, slots)
    frame[:] = 1.0
    for x in range(slots):
        for z in range(x + 1, slots):
            record = frame[x, z]
            seen = False
            for i in range(start[x], start[x + 1]):
                for j in range(start[z], start[z + 1]):
                    a = members[i]
                    b = members[j]
                    moving_series(
                        (first[a, b] + centre * second[a, b]) * unscale,
                        second[a, b] * unscale,
                        at_centre,
                        power[1],
                        half,
                        box_cox,
                        series,
                        work,
                    )
                    model[:] = 0.0
                    add_series(model, 0, series)
                    for channel in range(channels):
                        role = channel_role(kind, channel) if seen else 9
                        _absorb(record, channel * DEGREE, role, model)
                    seen = True
            for lane in range(channels * DEGREE):
                frame[z, x, lane] = record[lane]


@borrowing
def channel_role(kind, channel):
    """Say what a channel keeps.

    -1/+1: the coefficientwise min/max, -2/+2: the coefficients of the pair that is smaller/larger
    in the middle.
    """
    if kind == MINMAX:
        return (-1, 2, -2, 1)[channel]
    if kind == MINIMUM:
        return -1 if channel == 0 else -2
    return 2 if channel == 0 else 1


@borrowing
def _absorb(record, start, role, other):
    """Merge other coefficients into the channel of a record that starts at lane ``start``."""
    middle = DEGREE // 2
    if role == -1:
        for k in range(DEGREE):
            record[start + k] = min(record[start + k], other[k])
    elif role == 1:
        for k in range(DEGREE):
            record[start + k] = max(record[start + k], other[k])
    elif (
        role == 9
        or (role == -2 and other[middle] < record[start + middle])
        or (role == 2 and other[middle] > record[start + middle])
    ):
        for k in range(DEGREE):
            record[start + k] = other[k]


@borrowing
def merge_enclosure(frame, kind, x, y, active, n_active):
    """Do the same for enclosures, except their codes."""
    channels = (frame.shape[2] - 2) // DEGREE
    for i in range(n_active):
        z = active[i]
        record = frame[x, z]
        other = frame[y, z]
        for channel in range(channels):
            start = channel * DEGREE
            _absorb(record, start, channel_role(kind, channel), other[start : start + DEGREE])
        for lane in range(channels * DEGREE):
            frame[z, x, lane] = record[lane]
