"""Panels of `certune.kernels.kinetic`: build the records of the first clusters, and read them.

Where changes are *dense*, panels are narrow, and records close to their chords: the straight lines
between their values at both ends.  Chords of averages are averages of chords, and so is their
relative distance from the records; two numbers per pair then decide most comparisons.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.certificates import Panel
from certune.kernels.frame_building import build_averages, fill_ends
from certune.kernels.frames import AVERAGE, kind_of_values
from certune.kernels.linking import linked
from certune.kernels.records import bow, move_record
from certune.kernels.series import DEGREE, UNIT
from certune.kernels.tree_records import set_chord

LARGEST_BOW = 0.25  # relative distance from the chord beyond which chords are of no use
CHORD = np.arange(DEGREE) / (DEGREE - 1)


@borrowing
def _largest_bow(records, count):
    largest = 0.0
    for x in range(count):
        for z in range(x + 1, count):
            largest = max(largest, bow(records.flat, 8 * (x * records.width + z), CHORD))
    return largest * (1.0 + 2.0**-20) + 32.0 * UNIT


@borrowing
def _set_first(records, frame, count):
    """Mark the records of the first clusters as known, and no others; take ENDS from the frame."""
    width = records.width
    flat = records.flat
    known = records.known
    known[:] = 0
    for x in range(count):
        known[x * width + x + 1 : x * width + count] = 1
        if frame.size > 0:
            for z in range(x + 1, count):
                move_record(frame, 8 * (x * count + z), flat, 8 * (x * width + z))


@borrowing
def _set_first_chords(records, sign, count):
    records.chords[:] = np.nan
    for x in range(count):
        for z in range(x + 1, count):
            set_chord(records, sign, x, z)


@linked
def open_panel(source, records, low, high, dense):
    """Build the records of the first clusters on [low, high].

    The panel has an infinite error if that is not possible.
    """
    count = source.sizes.size
    power = source.pairs.power
    centre = 0.0
    if source.form == AVERAGE:
        error, sign, box_cox = build_averages(
            records.flat,
            records.width,
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
    slack = 1.0
    if dense:
        bow_here = _largest_bow(records, count)
        dense = bow_here < LARGEST_BOW
        slack = factor * (1.0 + bow_here) / (1.0 - bow_here) * (1.0 + 32.0 * UNIT)
    if dense:
        _set_first_chords(records, sign, count)
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
        slack if sign > 0 else 1.0 / slack,
    )
