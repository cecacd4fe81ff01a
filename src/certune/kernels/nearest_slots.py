"""The nearest slot of a row: guessed, proved, or what is in the way of a proof.

A row is *blocked* by two clusters whose order changes on the interval, or is not found.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing, inlined
from certune.kernels.compare import (
    CROSSING,
    FARTHER,
    HOPELESS,
    NEARER,
    TOO_WIDE,
    next_doubtful_average,
    next_doubtful_enclosure,
    next_doubtful_end,
    set_bars,
)
from certune.kernels.decisions import settle
from certune.kernels.frames import AVERAGE, ENDS
from certune.kernels.series import DEGREE

CROSSING_ROW, WIDE_ROW = 1, 2  # why a row is blocked
LARGEST = np.int64(2**63 - 1)
POSITIONS = np.int64(2**20 - 1)  # bits of a key that hold its position


@borrowing
def guess_nearest(flat, lane, other, sign, start, width, x, active, n_active, keys, key_bits):
    """Nearest slot of x by one coefficient: a guess that must be made sure of.

    ``start`` is where the row of x starts; with ``other`` > 0 two lanes are added.  As integers,
    positive keys have the same order; their last bits are replaced by their position, so that
    the minimum tells where it is and the loops vectorise.
    """
    start += lane
    far = np.inf if sign > 0 else 0.0
    if other > 0:
        other -= lane
        for i in range(n_active):
            at = start + active[i] * width
            keys[i] = far if active[i] == x else flat[at] + flat[at + other]
    else:
        for i in range(n_active):
            keys[i] = far if active[i] == x else flat[start + active[i] * width]
    flip = np.int64(0) if sign > 0 else LARGEST
    least = LARGEST
    for i in range(n_active):
        least = min(least, ((key_bits[i] ^ flip) & ~POSITIONS) | i)
    return active[least & POSITIONS]


@inlined
def still_blocked(rows, x):
    """Say whether both clusters that block row x are still there."""
    stop = rows.stop
    marks = rows.marks
    return marks[stop[x, 0]] == stop[x, 2] and marks[stop[x, 1]] == stop[x, 3]


@inlined
def resolve(
    frame,
    flat,
    flat_bits,
    bits,
    model,
    interval,
    ends,
    pairs,
    rows,
    n_active,
    tree,
    settled,
    exact,
    row,
    bars,
    evidence_arrays,
):
    """Find the nearest slot of a row for certain.

    Returns NEARER, or why that is not possible (the row is then blocked) or HOPELESS.
    """
    slots = frame.shape[0]
    form = model.form
    kind = model.kind
    sign = model.sign
    error = model.error
    active = rows.active
    nearest = rows.nearest
    bar_bits = bars.view(np.int64)
    flip = np.int64(0) if sign > 0 else np.int64(-1)
    near = nearest[row]
    rival = -1
    switches = 0
    code = NEARER
    set_bars(frame, form, kind, sign, row, near, error, bars)
    j = 0
    while True:
        if form == AVERAGE:
            start = row * slots * DEGREE
            j = next_doubtful_average(flat_bits, bar_bits, flip, start, active, j, n_active)
        elif form == ENDS:
            start = row * slots * 8
            j = next_doubtful_end(flat, bars[0], bars[1], kind, sign, start, active, j, n_active)
        else:
            j = next_doubtful_enclosure(frame, form, kind, sign, row, bars, active, j, n_active)
        if j == n_active:
            break
        z = active[j]
        j += 1
        if z == row or z == near:
            continue
        rival = z
        code = settle(
            frame,
            bits,
            model,
            interval,
            ends,
            pairs,
            rows,
            tree,
            settled,
            exact,
            row,
            near,
            z,
            evidence_arrays,
        )
        if code == NEARER:
            continue
        if code != FARTHER:
            break
        switches += 1
        if switches > slots + 2:
            code = TOO_WIDE
            break
        rival = near
        near = z
        set_bars(frame, form, kind, sign, row, near, error, bars)
        code = NEARER
        j = 0
    nearest[row] = near
    if code == NEARER:
        rows.resolved[row] = True
        rows.blocked[row] = 0
    elif code != HOPELESS:
        zone = evidence_arrays[2]
        extent = interval[1] - interval[0]
        rows.blocked[row] = CROSSING_ROW if code == CROSSING else WIDE_ROW
        rows.stop[row, 0] = near
        rows.stop[row, 1] = rival
        rows.stop[row, 2] = rows.marks[near]
        rows.stop[row, 3] = rows.marks[rival]
        rows.zones[row, 0] = interval[0] + zone[0] * extent
        # A zone that is cut at the end of the interval ends there, without a rounding.
        until = interval[1] if zone[1] >= 1.0 else interval[0] + zone[1] * extent
        rows.zones[row, 1] = min(interval[1], until)
        rows.zones[row, 2] = zone[2]
        rows.zones[row, 3] = zone[3]
    return code


@borrowing
def row_to_split(rows, n_active, interval):
    """Find the row whose order changes nearest to the middle of the interval, -1 if none does."""
    middle = interval[0] + 0.5 * (interval[1] - interval[0])
    distance = np.inf
    chosen = -1
    for i in range(n_active):
        x = rows.active[i]
        if rows.blocked[x] == CROSSING_ROW and still_blocked(rows, x):
            away = abs(0.5 * (rows.zones[x, 0] + rows.zones[x, 1]) - middle)
            if away < distance:
                distance = away
                chosen = x
    return chosen
