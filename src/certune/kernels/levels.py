"""Levels of a sweep: intervals on the way down from a panel, and what is known on each.

The sweep goes down a binary tree of intervals.  A level has its interval, the frame that models
values there, the clusters that are left, and how far the search has come.  The level below starts
from that: on the slots of the same frame, or on slots of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.decisions import MAX_DEPTH
from certune.kernels.linking import linked
from certune.kernels.nearest_slots import CROSSING_ROW, still_blocked
from certune.kernels.search_state import Flags, Floats, Integers, Rows


class Levels(NamedTuple):
    """One entry for each depth; fields of `Rows` have one row for each."""

    low: Floats
    high: Floats
    frame_low: Floats  # the interval of the frame, which may be wider
    frame_high: Floats
    error: Floats  # of the models in the frame
    sign: Integers
    box_cox: Flags
    centre: Floats
    built: Floats  # width of the interval on which they were built
    offset: Integers  # where the frame starts in the pool
    slots: Integers
    n_active: Integers  # slots with a cluster
    nodes: Integers  # nodes of the tree
    forced: Integers  # comparisons settled on the branch
    ends: Flags  # (depth, 2): may an exact order "just inside" be asked for?
    splits: Integers  # (depth, 2): splits at the ends, -1: an edge
    stage: Integers  # parts that were searched, or are
    cut: Integers  # index of the split between the parts, -1: none
    position: Floats  # where the interval is cut then
    at_end: Integers  # splits in a row whose zones reach an end of the interval
    in_narrow: Integers  # splits whose zones fill much of an interval that is not cut any more
    choice: Integers  # for the trail: the open choice, 0 if the frame is not shared
    trail: Integers  # entries of the trail before the parts were searched
    sums: Integers  # (depth, points): point sums of the costs at that moment
    marks: Integers
    active: Integers
    nearest: Integers
    resolved: Flags
    blocked: Integers
    stop: Integers
    zones: Floats


@linked
def new_levels(n, slots, point):
    """Room for all levels; a ``point`` has one only."""
    depths = 1 if point else MAX_DEPTH
    return Levels(
        np.empty(MAX_DEPTH),
        np.empty(MAX_DEPTH),
        np.empty(MAX_DEPTH),
        np.empty(MAX_DEPTH),
        np.empty(MAX_DEPTH),
        np.empty(MAX_DEPTH, np.int64),
        np.zeros(MAX_DEPTH, np.bool_),
        np.zeros(MAX_DEPTH),
        np.empty(MAX_DEPTH),
        np.zeros(MAX_DEPTH, np.int64),
        np.empty(MAX_DEPTH, np.int64),
        np.empty(MAX_DEPTH, np.int64),
        np.empty(MAX_DEPTH, np.int64),
        np.empty(MAX_DEPTH, np.int64),
        np.zeros((MAX_DEPTH, 2), np.bool_),
        np.empty((MAX_DEPTH, 2), np.int64),
        np.empty(MAX_DEPTH, np.int64),
        np.empty(MAX_DEPTH, np.int64),
        np.empty(MAX_DEPTH),
        np.empty(MAX_DEPTH, np.int64),
        np.empty(MAX_DEPTH, np.int64),
        np.zeros(MAX_DEPTH, np.int64),
        np.zeros(MAX_DEPTH, np.int64),
        np.empty((depths, n), np.int64),
        np.empty((depths, slots), np.int64),
        np.empty((depths, slots), np.int64),
        np.empty((depths, slots), np.int64),
        np.empty((depths, slots), np.bool_),
        np.empty((depths, slots), np.int64),
        np.empty((depths, slots, 4), np.int64),
        np.empty((depths, slots, 4)),
    )


@linked
def rows_of(levels, depth):
    """View the rows of a level."""
    return Rows(
        levels.marks[depth],
        levels.active[depth],
        levels.nearest[depth],
        levels.resolved[depth],
        levels.blocked[depth],
        levels.stop[depth],
        levels.zones[depth],
    )


@borrowing
def enter(levels, low, high, low_end, high_end, tops, n_nodes):
    """Begin the first level: a panel, and the clusters with these top nodes."""
    levels.low[0] = low
    levels.high[0] = high
    levels.frame_low[0] = low
    levels.frame_high[0] = high
    levels.built[0] = high - low
    levels.slots[0] = tops.size
    levels.n_active[0] = tops.size
    levels.nodes[0] = n_nodes
    levels.forced[0] = 0
    levels.at_end[0] = 0
    levels.in_narrow[0] = 0
    levels.stage[0] = 0
    levels.splits[0, 0] = -1
    levels.splits[0, 1] = -1
    levels.ends[0, 0] = low_end
    levels.ends[0, 1] = high_end
    for i in range(tops.size):
        levels.marks[0, i] = tops[i]
        levels.active[0, i] = i
        levels.nearest[0, i] = -1
        levels.resolved[0, i] = False
        levels.blocked[0, i] = 0


@borrowing
def open_child(levels, depth, to_left, splits, forced):
    """Begin the level below: the left or the right part of the interval."""
    child = depth + 1
    low = levels.low[depth]
    high = levels.high[depth]
    which = levels.cut[depth]
    side = 1 if to_left else 0  # the end at which the interval is cut
    if which < 0:
        position = levels.position[depth]
    else:
        position = splits[which, side]
    levels.low[child] = low if to_left else position
    levels.high[child] = position if to_left else high
    for end in range(2):
        levels.splits[child, end] = levels.splits[depth, end]
        levels.ends[child, end] = levels.ends[depth, end]
    reaches = position >= high if to_left else position <= low
    levels.ends[child, side] = levels.ends[depth, side] and reaches
    levels.forced[child] = levels.forced[depth]
    if which >= 0:
        levels.splits[child, side] = which
        forced[levels.forced[depth], 3] = int(splits[which, 2 if to_left else 3])
        levels.forced[child] += 1
    levels.at_end[child] = levels.at_end[depth]
    levels.in_narrow[child] = levels.in_narrow[depth]
    levels.stage[child] = 0
    levels.nodes[child] = levels.nodes[depth]
    levels.n_active[child] = levels.n_active[depth]
    levels.error[child] = levels.error[depth]
    levels.sign[child] = levels.sign[depth]
    levels.box_cox[child] = levels.box_cox[depth]
    levels.centre[child] = levels.centre[depth]
    levels.built[child] = levels.built[depth]


@borrowing
def share_frame(levels, depth, rows, choice):
    """Let the level below use the same frame and slots, as the open choice with this number."""
    child = depth + 1
    levels.offset[child] = levels.offset[depth]
    levels.slots[child] = levels.slots[depth]
    levels.frame_low[child] = levels.frame_low[depth]
    levels.frame_high[child] = levels.frame_high[depth]
    levels.choice[child] = choice
    zones = rows.zones
    for i in range(levels.n_active[depth]):
        x = rows.active[i]
        levels.active[child, i] = x
        levels.marks[child, x] = rows.marks[x]
        levels.nearest[child, x] = rows.nearest[x]
        levels.resolved[child, x] = rows.resolved[x]
        levels.blocked[child, x] = 0
        if (
            rows.blocked[x] == CROSSING_ROW
            and levels.low[child] < zones[x, 0]
            and zones[x, 1] < levels.high[child]
            and still_blocked(rows, x)
        ):
            levels.blocked[child, x] = CROSSING_ROW
            for c in range(4):
                levels.stop[child, x, c] = rows.stop[x, c]
                levels.zones[child, x, c] = zones[x, c]


@borrowing
def renumber_slots(levels, depth, rows, width, place):
    """Give the level below slots of its own, behind the frame; ``place`` is work space."""
    child = depth + 1
    slots = levels.slots[depth]
    count = levels.n_active[depth]
    levels.offset[child] = levels.offset[depth] + width * slots * slots
    levels.slots[child] = count
    levels.frame_low[child] = levels.low[child]
    levels.frame_high[child] = levels.high[child]
    levels.choice[child] = 0
    for i in range(count):
        place[rows.active[i]] = i
    for i in range(count):
        x = rows.active[i]
        guess = rows.nearest[x]
        levels.active[child, i] = i
        levels.marks[child, i] = rows.marks[x]
        levels.nearest[child, i] = place[guess] if guess >= 0 else -1
        levels.resolved[child, i] = rows.resolved[x]
        levels.blocked[child, i] = 0
