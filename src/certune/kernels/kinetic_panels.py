"""Panels of `certune.kernels.kinetic`: build the records of the first clusters, and read them.

Where changes are *dense*, panels are narrow, and values close to their chords.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import Panel, set_basis
from certune.kernels.frame_building import build_averages, fill_ends
from certune.kernels.frames import AVERAGE, kind_of_values
from certune.kernels.linking import linked
from certune.kernels.pair_keys import key_of
from certune.kernels.records import evaluate_records, move_record
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


@linked
def new_ends(count):
    """Room for the values of pairs of first clusters at both ends of a part, see `_fill_ends`."""
    return np.full((2, key_of(count, 0) + 3 + 3), np.nan)


@borrowing
def _fill_ends(records, model, count, start, stop, ends, basis):
    """Values of the first clusters at both ends of a part of the panel, times the sign.

    Behind them is where they are from: t and the interval of the model.  A part often starts where
    the one before ended.  Returns the smallest and the largest value.
    """
    n_pairs = key_of(count, 0)
    source = n_pairs + 3  # behind what `evaluate_records` may write
    smallest = np.inf
    largest = -np.inf
    for end in range(2):
        values = ends[end]
        t = stop if end == 1 else start
        last = ends[1, source:]
        if end == 0 and last[0] == t and last[1] == model.low and last[2] == model.high:
            for i in range(values.size):
                values[i] = ends[1, i]
        else:
            set_basis((t - model.low) / (model.high - model.low), basis)
            for k in range(DEGREE):
                basis[k] *= model.sign
            evaluate_records(records.flat, basis, values, n_pairs)
            values[source] = t
            values[source + 1] = model.low
            values[source + 2] = model.high
        for i in range(n_pairs):
            value = values[i]
            if value < smallest:
                smallest = value
            if value > largest:
                largest = value
    return smallest, largest


@borrowing
def _set_first_chords(records, count, ends, base):
    """Set the chords of the first clusters: their values, less the base of all keys."""
    width = records.width
    chords = records.chords
    slots = records.slots
    starts = ends[0]
    stops = ends[1]
    for x in range(count):
        row = key_of(x, 0)
        slot = slots[x]
        for z in range(x):
            start = np.float32(starts[row + z] - base)
            stop = np.float32(stops[row + z] - base)
            for at in (slot * width + slots[z], slots[z] * width + slot):
                chords[2 * at] = start
                chords[2 * at + 1] = stop


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


class Model(NamedTuple):
    """What the records of the first clusters model, and how."""

    low: float
    high: float
    error: float  # infinite if they could not be built
    sign: int
    box_cox: bool
    centre: float


@linked
def build_records(source, records, low, high):
    """Build the records of the first clusters on [low, high]; those of others are not known."""
    count = source.sizes.size
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
    if error < 1e-2:
        _set_first(records, source.frame.reshape(source.frame.size), count)
    else:
        error = np.inf
    return Model(low, high, error, sign, box_cox, centre)


@linked
def open_panel(source, records, model, until, stack, ends, basis, start, stop, dense):
    """Look at a part of the interval of the records, or at all of it.

    In ``dense`` panels chords are set, if that is possible; ``ends`` and ``basis`` are work space.
    """
    error = model.error
    sign = model.sign
    factor = (1.0 + error) / (1.0 - error) * (1.0 + 16.0 * UNIT)
    inner = error + 8.0 * (DEGREE + 1) * UNIT
    inner_factor = (1.0 + inner) / (1.0 - inner) * (1.0 + 16.0 * UNIT)
    key_factor = 1.0
    key_offset = 0.0
    exponent = _largest_exponent(source, model.box_cox, start, stop)
    dense = dense and error < np.inf and exponent < LARGEST_EXPONENT
    base = 0.0
    if dense:
        count = source.sizes.size
        base, largest = _fill_ends(records, model, count, start, stop, ends, basis)
        dense = largest - base < LARGEST_KEY
    if dense:
        # Hoeffding's lemma: (1 - s) + s exp(y) <= exp(s y + y^2 / 8).  A value is between its
        # chord and the chord times exp(-y^2 / 8), and so are averages of values.
        slack = inner_factor * math.exp(0.125 * exponent * exponent) * (1.0 + 32.0 * UNIT)
        _set_slots(records, until, stack)
        _set_first_chords(records, count, ends, base)
        # Beyond slack times a value, in terms of keys.
        key_factor = slack if sign > 0 else 1.0 / slack
        key_offset = abs(base * (key_factor - 1.0))
    return Panel(
        source.form,
        kind_of_values(source.kind, sign),
        sign,
        error,
        model.low,
        model.high,
        start,
        stop,
        model.box_cox,
        model.centre,
        source.pairs.power,
        0 if sign > 0 else -1,
        factor if sign > 0 else 1.0 / factor,
        inner_factor if sign > 0 else 1.0 / inner_factor,
        dense,
        key_factor,
        key_offset,
    )
