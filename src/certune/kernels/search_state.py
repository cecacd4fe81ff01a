"""What the sweep carries along, bundled by concept.

The sweep goes down a binary tree of intervals and comes back; these bundles say what belongs
together: the pair functions, the tree under construction, the costs of its clusters, the rows of
the current clusters, comparisons settled on this branch, and the way to the exact layer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.kernels.borrowing import borrowing
from certune.kernels.linking import linked
from certune.kernels.records import move_record

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Pairs(NamedTuple):
    """Functions of the pairs of points along the segment; see `certune.kernels.series`."""

    mode: int
    first: Floats
    second: Floats
    power: Floats
    input_error: float
    codes: NDArray[np.uint64]
    ordered: bool


class Values(NamedTuple):
    """Linkage values along the segment: what frames are built from."""

    kind: int
    form: int
    pairs: Pairs
    offset: float
    span: float
    smallest: float  # range of the fixed distances
    largest: float


class Model(NamedTuple):
    """How values are represented in the frame, and which part of its interval is looked at."""

    form: int
    kind: int  # in terms of values, see `frames.kind_of_values`
    sign: int
    error: float
    point: bool
    box_cox: bool
    centre: float
    cut_low: bool  # does the interval start inside that of the frame?
    cut_high: bool
    lane: int  # coefficient near the middle of the interval
    window: Floats  # `frames.restriction` to the interval


class Tree(NamedTuple):
    """Nodes and their members; the layout is that of `certune.kernels.pruning`."""

    left: Integers
    right: Integers
    head: Integers
    tail: Integers
    nxt: Integers
    size: Integers
    highest: Integers


class Costs(NamedTuple):
    """Costs of nodes and their best prunings; see `certune.kernels.pruning`."""

    objective: int
    reference: Integers
    k: int
    cost: Integers
    point_sum: Integers
    pair_sum: Integers
    table: Integers
    split: Integers
    scratch: Integers
    hashes: Integers
    memory: Integers


class Rows(NamedTuple):
    """What is known about each slot of a frame on the current interval."""

    marks: Integers  # node of the slot
    active: Integers
    nearest: Integers  # guess, or the truth if resolved; -1: none
    resolved: Flags
    blocked: Integers  # 0, CROSSING_ROW, or WIDE_ROW if the row could not be decided
    stop: Integers  # (slots, 4): slots and nodes of the two rivals of a blocked row
    zones: Floats  # (slots, 4): where their order changes (t), order left and right of it


class Settled(NamedTuple):
    """Comparisons settled on this branch; see `certune.kernels.identities`."""

    forced: Integers
    codes: Integers
    used: Integers


class Exact(NamedTuple):
    """The way to the exact layer: a C function, and the arrays it reads."""

    oracle: int
    question: Floats
    members: NDArray[np.uint8]


class Trail(NamedTuple):
    """Records that merges overwrote since the last open choice, to be put back."""

    records: Floats
    places: Integers
    used: Integers
    saved: Integers  # the choice for which the row of a slot was saved


@linked
def enlarged(pool, needed):
    """Return the pool, or a longer copy if it is too short."""
    if pool.size >= needed:
        return pool
    bigger = np.empty(max(needed, 2 * pool.size), dtype=pool.dtype)
    bigger[: pool.size] = pool
    return bigger


@linked
def with_room(trail, more):
    """Return the trail with room for so many entries more."""
    needed = trail.used[0] + more
    records = enlarged(trail.records, 8 * needed)
    return Trail(records, enlarged(trail.places, needed), trail.used, trail.saved)


@borrowing
def save_row(trail, choice, flat, slots, x, active, n_active):
    """Save the row of slot x, unless this was done since the choice was opened."""
    if choice == 0 or trail.saved[x] == choice:
        return
    trail.saved[x] = choice
    records = trail.records
    places = trail.places
    count = trail.used[0]
    for i in range(n_active):
        place = x * slots + active[i]
        places[count] = place
        move_record(flat, place * 8, records, count * 8)
        count += 1
    trail.used[0] = count


@borrowing
def rewind(trail, mark, flat, slots):
    """Put back what was saved since the trail had ``mark`` entries."""
    records = trail.records
    places = trail.places
    count = trail.used[0]
    while count > mark:
        count -= 1
        place = places[count]
        mirror = (place % slots) * slots + place // slots
        move_record(records, count * 8, flat, place * 8)
        move_record(records, count * 8, flat, mirror * 8)
    trail.used[0] = mark
