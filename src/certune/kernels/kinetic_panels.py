"""Panels of `certune.kernels.kinetic`: build the records of the first clusters, and read them.

Where changes are *dense*, panels are narrow, and values close to their chords.
"""

from __future__ import annotations

import math

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import Panel
from certune.kernels.frame_building import build_averages, fill_ends
from certune.kernels.frames import AVERAGE, kind_of_values
from certune.kernels.linking import linked
from certune.kernels.pair_keys import key_of
from certune.kernels.records import move_record
from certune.kernels.series import DEGREE, MOVING, POWER, UNIT

LARGEST_KEY = 2.0**120
LARGEST_EXPONENT = 1.25  # of values on a panel, beyond which chords are of no use


@borrowing
def _largest_exponent(source, box_cox, low, high):
    """How far the exponents of values may move on [low, high], but for what is common to them."""
    mode = source.pairs.mode
    if mode == MOVING or box_cox:
        return np.inf
    rate = 0.5 * (source.largest - source.smallest)
    if mode == POWER:
        rate *= abs(source.pairs.power[1])
    return rate * (high - low) * (1.0 + 2.0**-40)


@borrowing
def _set_first(records, frame, count):
    """Mark the records of the first clusters as known, and no others; take ENDS from the frame."""
    known = records.known
    known[: key_of(count, 0)] = 1
    known[key_of(count, 0) :] = 0
    records.n_partners[:] = 0
    for x in range(count if frame.size > 0 else 0):
        for z in range(x):
            move_record(frame, 8 * (x * count + z), records.flat, 8 * key_of(x, z))


@borrowing
def _range_at_ends(records, sign, count):
    """Smallest and largest value of the first clusters at an end of the panel, times the sign."""
    flat = records.flat
    smallest = np.inf
    largest = -np.inf
    for at in range(0, 8 * key_of(count, 0), 8):
        start = sign * flat[at]
        end = sign * flat[at + DEGREE - 1]
        smallest = min(smallest, start, end)
        largest = max(largest, start, end)
    return smallest, largest


@borrowing
def _set_first_chords(records, sign, count, base):
    """Set the chords of the first clusters: their values, less the base of all keys."""
    width = records.width
    flat = records.flat
    chords = records.chords
    last = DEGREE - 1
    slots = records.slots
    for x in range(count):
        for z in range(x):
            at = 8 * key_of(x, z)
            here = 2 * (slots[x] * width + slots[z])
            there = 2 * (slots[z] * width + slots[x])
            start = np.float32(sign * flat[at] - base)
            end = np.float32(sign * flat[at + last] - base)
            chords[here] = start
            chords[here + 1] = end
            chords[there] = start
            chords[there + 1] = end


@borrowing
def _set_slots(records, until, filled):
    """Order slots by the stages at which nodes are merged: those alive together lie together."""
    filled[:] = 0
    width = records.width
    for node in range(width):
        filled[until[node] if until[node] >= 0 else width - 1] += 1
    total = 0
    for stage in range(width):
        count = filled[stage]
        filled[stage] = total
        total += count
    for node in range(width):
        stage = until[node] if until[node] >= 0 else width - 1
        records.slots[node] = filled[stage]
        records.node_at[filled[stage]] = node
        filled[stage] += 1


@linked
def open_panel(source, records, until, stack, low, high, dense):
    """Build the records of the first clusters on [low, high].

    The panel has an infinite error if that is not possible.
    """
    count = source.sizes.size
    power = source.pairs.power
    centre = 0.0
    if source.form == AVERAGE:
        error, sign, box_cox = build_averages(
            records.flat,
            False,
            source.pairs,
            source.offset,
            source.labels,
            source.sizes,
            source.span,
            low,
            high,
            source.smallest,
            source.largest,
        )
    else:
        error, sign, box_cox, centre = fill_ends(
            source.frame, source.pairs, source.span, low, high, source.smallest, source.largest
        )
    if not error < 1e-2:
        error = np.inf
        dense = False
    else:
        _set_first(records, source.frame.reshape(source.frame.size), count)
    factor = (1.0 + error) / (1.0 - error) * (1.0 + 16.0 * UNIT)
    inner = error + 8.0 * (DEGREE + 1) * UNIT
    inner_factor = (1.0 + inner) / (1.0 - inner) * (1.0 + 16.0 * UNIT)
    key_factor = 1.0
    key_offset = 0.0
    exponent = _largest_exponent(source, box_cox, low, high)
    dense = dense and exponent < LARGEST_EXPONENT
    base = 0.0
    if dense:
        base, largest = _range_at_ends(records, sign, count)
        dense = largest - base < LARGEST_KEY
    if dense:
        # Hoeffding's lemma: (1 - s) + s exp(y) <= exp(s y + y^2 / 8).  A value is between its
        # chord and the chord times exp(-y^2 / 8), and so are averages of values.
        slack = factor * math.exp(0.125 * exponent * exponent) * (1.0 + 32.0 * UNIT)
        _set_slots(records, until, stack)
        _set_first_chords(records, sign, count, base)
        # Beyond slack times a value, in terms of keys.
        key_factor = slack if sign > 0 else 1.0 / slack
        key_offset = abs(base * (key_factor - 1.0))
    return Panel(
        source.form,
        kind_of_values(source.kind, sign),
        sign,
        error,
        low,
        high,
        box_cox,
        centre,
        power,
        0 if sign > 0 else -1,
        factor if sign > 0 else 1.0 / factor,
        inner_factor if sign > 0 else 1.0 / inner_factor,
        dense,
        key_factor,
        key_offset,
    )
