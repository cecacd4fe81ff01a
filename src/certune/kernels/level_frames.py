"""Frames of the levels of a sweep, one behind the other in a pool.

The first frame of a panel is built from the pairs of points.  A level below shares the frame of
the level above while it fills much of its interval.  Otherwise the frame is cut to the smaller
interval, or built anew where that gains accuracy.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.ends import build_logs, build_point_ends, fill_end
from certune.kernels.frame_building import build, order_sign
from certune.kernels.frames import (
    AVERAGE,
    ENCLOSURE,
    ENDS,
    build_point_mean,
    kind_of_values,
    restrict_frame,
    restriction,
)
from certune.kernels.linking import linked
from certune.kernels.pruning import label_members
from certune.kernels.search_state import Model
from certune.kernels.series import DEGREE, UNIT

ACCURATE = 1e-13  # models at least this accurate are not rebuilt to gain accuracy
SHARED = 0.25  # an interval shares the frame of its parent if it fills this much of it
FINER = 1e-4  # on intervals narrower than theirs by this factor models are built anew


@linked
def frame_at(pool, levels, depth, width):
    """View the frame of a level inside the pool."""
    start = levels.offset[depth]
    slots = levels.slots[depth]
    return pool[start : start + slots * slots * width].reshape((slots, slots, width))


@linked
def build_at(levels, depth, frame, values, labels, sizes):
    """Build the frame of a level from the pairs of points, for clusters given by labels."""
    error, sign, box_cox, centre = build(
        frame,
        values.form,
        values.kind,
        values.pairs,
        values.offset,
        labels,
        sizes,
        values.span,
        levels.low[depth],
        levels.high[depth],
        values.smallest,
        values.largest,
    )
    levels.error[depth] = error
    levels.sign[depth] = sign
    levels.box_cox[depth] = box_cox
    levels.centre[depth] = centre


@linked
def build_at_point(levels, frame, values, numbers, error, labels, sizes):
    """Build the frame of the first level from the values of the pairs at a point."""
    pairs = values.pairs
    levels.error[0] = error
    levels.sign[0] = order_sign(pairs.power, values.span < 0, levels.low[0], levels.high[0])
    if values.form == AVERAGE:
        build_point_mean(frame, numbers, labels, sizes)
    else:
        codes = pairs.codes.view(np.int64)
        build_logs(frame, pairs.first, codes, pairs.ordered, labels, values.smallest - 1.0)
        build_point_ends(frame, numbers, labels)


@linked
def gains_by_building(levels, depth, form):
    """Is the frame of the level below better built anew?"""
    if form == ENCLOSURE:
        return True
    width = levels.high[depth + 1] - levels.low[depth + 1]
    return (
        form == AVERAGE
        and levels.error[depth] > ACCURATE
        and (levels.cut[depth] < 0 or width < FINER * levels.built[depth])
    )


@linked
def may_share(levels, depth):
    """Does the level below fill so much of the frame's interval that it can share it?"""
    width = levels.high[depth + 1] - levels.low[depth + 1]
    whole = levels.frame_high[depth] - levels.frame_low[depth]
    return levels.cut[depth] >= 0 and width >= SHARED * whole


@linked
def cut_frame(levels, depth, frame, child_frame, form, power):
    """Cut the frame of a level to the interval and the slots of the level below."""
    child = depth + 1
    active = levels.active[depth]
    count = levels.n_active[depth]
    low = levels.low[child]
    high = levels.high[child]
    if form == ENDS:
        for end in range(2):
            fill_end(
                frame if end == 0 else child_frame,
                child_frame,
                active if end == 0 else levels.active[child],
                count,
                power[0] + power[1] * (low if end == 0 else high),
                levels.box_cox[child],
                levels.centre[child],
                end,
            )
        return
    start = levels.frame_low[depth]
    width = levels.frame_high[depth] - start
    restrict_frame(
        frame,
        child_frame,
        1,
        active,
        count,
        max(0.0, (low - start) / width),
        min(1.0, (high - start) / width),
    )
    levels.error[child] += 8.0 * DEGREE * UNIT


@linked
def label_clusters(rows, count, tree, labels, sizes):
    """Write the number of every point's cluster, in the order of the active slots, and sizes."""
    for i in range(count):
        node = rows.marks[rows.active[i]]
        sizes[i] = tree.size[node]
        label_members(node, tree.head, tree.tail, tree.nxt, i, labels)


@linked
def model_at(levels, depth, form, kind, point):
    """How values are read from the frame on the interval of a level."""
    low = levels.low[depth]
    high = levels.high[depth]
    start = levels.frame_low[depth]
    stop = levels.frame_high[depth]
    share_low = 0.0
    share_high = 1.0
    if stop > start:
        share_low = (low - start) / (stop - start)
        share_high = (high - start) / (stop - start)
    cut_low = low > start
    cut_high = high < stop
    window = np.empty(0)
    if form == AVERAGE and (cut_low or cut_high):
        window = restriction(share_low, share_high)
    return Model(
        form,
        kind_of_values(kind, levels.sign[depth]),
        levels.sign[depth],
        levels.error[depth],
        point,
        levels.box_cox[depth],
        levels.centre[depth],
        cut_low,
        cut_high,
        int(0.5 * (share_low + share_high) * (DEGREE - 1) + 0.5),
        window,
    )
