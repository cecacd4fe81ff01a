"""The sweep: every cluster tree that greedy linkage builds along a segment, certified.

Depth first over sub-intervals.  On a frame's interval all merges that are certified there are
carried out, and shared by everything below.  When the remaining candidates change their order
inside the interval, the interval is split there: the left part under one order, the right part
under the other, overlapping in the zone that holds the change.  A comparison settled by such a
split (or by the exact layer) is remembered on the branch.  Every leaf is one tree, pruned to k
clusters; where two leaves overlap the tree is one of the two.  A branch whose orders contradict
each other has no leaf: at every parameter the orders of another one are the true ones.

Questions to the exact layer go through a C callback: what is asked is written to arrays that the
callback knows, and its result is the answer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.agglomerate import DONE, IMPOSSIBLE, PLAIN, UNKNOWN, ZONE, agglomerate
from certune.kernels.borrowing import borrowing, bundled, keep_alive
from certune.kernels.decisions import (
    AT_HIGH_END,
    AT_LOW_END,
    AT_POINT,
    CROSSES,
    IDENTITY,
    MAX_DEPTH,
    NARROW,
    NARROW_ZONE,
    mark_members,
)
from certune.kernels.frame_building import last_joint_panel
from certune.kernels.frames import ENDS, frame_form, pair_range, record_width
from certune.kernels.identities import remember
from certune.kernels.leaves import add_to_place, joins_place, number_of, room_for, write_leaf
from certune.kernels.level_frames import (
    ACCURATE,
    build_at,
    build_at_point,
    cut_frame,
    frame_at,
    gains_by_building,
    label_clusters,
    may_share,
    model_at,
)
from certune.kernels.levels import (
    enter,
    new_levels,
    open_child,
    renumber_slots,
    rows_of,
    share_frame,
)
from certune.kernels.pruning import cut
from certune.kernels.search_state import Exact, Pairs, Values, enlarged, rewind, with_room
from certune.kernels.series import DEGREE, MOVING
from certune.kernels.sweep_start import first_clusters, new_settled, new_trail

__all__ = [
    "AT_HIGH_END",
    "AT_LOW_END",
    "AT_POINT",
    "CROSSES",
    "IDENTITY",
    "NARROW_ZONE",
    "sweep",
]

MOST_PLAIN_CUTS = 500  # more cuts than this beyond four per split: intervals stay undecided
MOST_UNKNOWN_LEAVES = 4000  # after that many undecided leaves no interval is split any more
MOST_IN_NARROW = 1  # zones that fill much of an interval too narrow to be cut, one after the other
MOST_AT_END = 3  # after so many splits at an end of the interval, the next zone there is cut off


@borrowing
def _way_on(levels, depth, status, zones, x, wide_zone):
    """Where merges stopped: split at the ZONE of row x, cut at ``position`` (PLAIN), or UNKNOWN.

    A zone that reaches an end says nothing about the order there.  If it is wide, the order may
    change more than once in it.  If there is one after the other, many comparisons tie at that end:
    beside it they are decided without a split.
    """
    low = levels.low[depth]
    high = levels.high[depth]
    extent = high - low
    narrow = extent <= NARROW * max(1.0, abs(low))
    levels.position[depth] = low + 0.5 * extent
    if status == UNKNOWN or depth >= MAX_DEPTH - 2:
        return UNKNOWN
    if status == PLAIN:
        return UNKNOWN if narrow else PLAIN
    start = zones[x, 0]
    stop = zones[x, 1]
    wide = stop - start >= wide_zone * extent
    if narrow:
        # Both orders count in all of it; the next one there, in four trees, and so on.
        levels.in_narrow[depth] += wide
        return UNKNOWN if extent == 0.0 or levels.in_narrow[depth] > MOST_IN_NARROW else ZONE
    at_end = start <= low or stop >= high
    levels.at_end[depth] = levels.at_end[depth] + 1 if at_end else 0
    if wide:
        return PLAIN if at_end or levels.error[depth] > ACCURATE else ZONE
    if levels.at_end[depth] <= MOST_AT_END:
        return ZONE
    beside = 2.0 * stop - low if start <= low else 2.0 * start - high
    if low < beside < high:
        levels.position[depth] = beside
    return PLAIN


@borrowing
def _write_split(split, members, x, bits, model, rows, tree, settled):
    """Write where the order of row x changes, and between which clusters.

    On both sides of it the comparison is settled; which way is written for each of them.
    """
    y = rows.stop[x, 0]
    z = rows.stop[x, 1]
    for c in range(4):
        split[c] = rows.zones[x, c]
    mark_members(members, rows.marks, x, y, z, tree.head, tree.tail, tree.nxt)
    remember(
        settled.forced,
        settled.codes,
        settled.used[0],
        bits,
        model.form,
        model.kind,
        model.sign,
        rows.marks,
        x,
        y,
        z,
        0,
    )


@njit(cache=True, nogil=True)
def sweep(
    kind,
    mode,
    first,
    second,
    offset,
    power,
    span,
    input_error,
    pair_codes,
    ordered,
    panels,
    ends,
    point_values,
    point_error,
    labels0,
    left,
    right,
    n_made,
    objective,
    reference,
    k,
    wide_zone,
    oracle,
    question,
    question_marks,
):
    """Search the panels (rows low, high) one after the other.

    ``labels0`` gives the clusters to start from, ``left``/``right``/``n_made`` the merges that
    made them (shared by every parameter).  With ``point_values`` not empty, the one panel is the
    point ``panels[0, 0]`` and the values there are given.  ``ends`` says for both ends of a panel
    whether an exact order "just inside" may be asked for.  A zone that fills more than the share
    ``wide_zone`` of its interval asks for better models there.  ``oracle`` is the address of the
    exact layer: a C function that reads ``question`` (float64 array (4,): kind, interval, the order
    proved elsewhere) and ``question_marks`` (uint8 array (n,): members of the three clusters) and
    returns an answer.

    Returns
    -------
    leaves : float array (m, 2), leaf_info : int array (m, 3)
        Intervals; left split, right split (-1: an edge), partition (-1: undecided).
    splits : float array (s, 6), split_marks : uint8 array (s, n)
        low, high, order left, order right, left and right split of the interval that is split (-1:
        an edge); members of the three clusters.
    partitions : int array (r, n)
    """
    n = first.shape[0]
    slots0 = n - n_made
    point = point_values.size > 0
    form = frame_form(kind, mode)
    width = record_width(kind, form)
    smallest = 0.0
    largest = 0.0
    if mode != MOVING:
        smallest, largest = pair_range(mode, first, second, labels0, 0.0, 0.0)
        smallest = min(smallest, largest)
    pairs = Pairs(mode, first, second, power, input_error, pair_codes, ordered)
    values_ = Values(kind, form, pairs, offset, span, smallest, largest)
    tree, costs, tops = first_clusters(labels0, left, right, n_made, objective, reference, k)
    settled = new_settled()
    exact = Exact(oracle, question, question_marks)
    trail = new_trail(slots0)
    levels_ = new_levels(n, slots0, point)
    values = bundled(values_)
    levels = bundled(levels_)
    coefficients = 2 if form == ENDS else DEGREE
    evidence_arrays = (
        np.empty(coefficients),
        np.empty(coefficients),
        np.zeros(4),
        np.empty((10, DEGREE + 1)),
    )
    bars = np.empty(DEGREE)
    keys = np.empty(slots0)
    interval = np.empty(2)
    made = np.zeros(1, np.int64)
    best = np.zeros(1, np.int64)
    n_choices = 0
    place = np.empty(slots0, np.int64)
    labels = np.empty(n, np.int64)
    sizes = np.empty(slots0)
    cut_stack = np.empty(3 * k, np.int64)
    flat = np.empty(n, np.int64)
    pool = np.empty(2 * width * slots0 * slots0 + 1)
    point_sum = costs.point_sum
    first_sums = point_sum.copy()

    leaves = np.empty((64, 2))
    leaf_info = np.empty((64, 3), np.int64)
    n_leaves = 0
    n_plain = 0
    n_unknown = 0
    undecided = np.array([np.inf, -np.inf])  # what undecided leaves that meet cover together
    splits = np.empty((64, 6))
    split_marks = np.empty((64, n), np.uint8)
    n_splits = 0
    partitions = np.empty((64, n), np.int64)
    n_partitions = 0

    panel = 0
    while panel < panels.shape[0]:
        low = panels[panel, 0]
        low_end = ends[panel, 0]
        if form == ENDS and not point:
            panel = last_joint_panel(mode, power, span, panels, ends, panel)
        enter(levels, low, panels[panel, 1], low_end, ends[panel, 1], tops, n + n_made)
        panel += 1
        for i in range(slots0):
            sizes[i] = tree.size[tops[i]]
        frame = frame_at(pool, levels, 0, width)
        if point:
            build_at_point(levels, frame, values, point_values, point_error, labels0, sizes)
        else:
            build_at(levels, 0, frame, values, labels0, sizes)
        depth = 0
        while depth >= 0:
            frame = frame_at(pool, levels, depth, width)
            rows = rows_of(levels, depth)
            if levels.stage[depth] == 0:
                made[0] = levels.nodes[depth]
                settled.used[0] = levels.forced[depth]
                count = levels.n_active[depth]
                status = PLAIN
                interval[0] = levels.low[depth]
                interval[1] = levels.high[depth]
                model = model_at(levels, depth, form, kind, point)
                if model.error < np.inf:
                    if levels.choice[depth] > 0:
                        trail = with_room(trail, count * count)
                    status, count = agglomerate(
                        frame,
                        model,
                        interval,
                        levels.ends[depth],
                        pairs,
                        rows,
                        count,
                        tree,
                        costs,
                        made,
                        settled,
                        exact,
                        trail,
                        levels.choice[depth],
                        best,
                        keys,
                        bars,
                        evidence_arrays,
                    )
                if status == IMPOSSIBLE:
                    depth -= 1
                    continue
                levels.n_active[depth] = count
                levels.nodes[depth] = made[0]
                levels.forced[depth] = settled.used[0]
                n_plain += status == PLAIN
                if status != DONE and (
                    n_unknown > MOST_UNKNOWN_LEAVES
                    or joins_place(undecided, interval[0], interval[1])
                ):
                    status = UNKNOWN
                elif status == PLAIN and n_plain > MOST_PLAIN_CUTS + 4 * n_splits:
                    status = UNKNOWN
                elif status != DONE:
                    status = _way_on(levels, depth, status, rows.zones, best[0], wide_zone)
                if status == DONE or status == UNKNOWN:
                    which = -1
                    if status == UNKNOWN:
                        n_unknown += 1
                        add_to_place(undecided, interval[0], interval[1])
                    else:
                        cut(
                            made[0] - 1,
                            left,
                            right,
                            costs.split,
                            tree.head,
                            tree.tail,
                            tree.nxt,
                            k,
                            flat,
                            cut_stack,
                        )
                        partitions = room_for(partitions, n_partitions)
                        which = number_of(flat, partitions, n_partitions)
                        n_partitions = max(n_partitions, which + 1)
                    leaves = room_for(leaves, n_leaves)
                    leaf_info = room_for(leaf_info, n_leaves)
                    write_leaf(
                        leaves,
                        leaf_info,
                        n_leaves,
                        levels.low[depth],
                        levels.high[depth],
                        levels.splits[depth, 0],
                        levels.splits[depth, 1],
                        which,
                    )
                    n_leaves += 1
                    depth -= 1
                    continue
                levels.sums[depth] = point_sum
                levels.trail[depth] = trail.used[0]
                levels.cut[depth] = -1
                if status == ZONE:
                    splits = room_for(splits, n_splits)
                    split_marks = room_for(split_marks, n_splits)
                    _write_split(
                        splits[n_splits],
                        split_marks[n_splits],
                        best[0],
                        frame.view(np.int64),
                        model,
                        rows,
                        tree,
                        settled,
                    )
                    for end in range(2):
                        splits[n_splits, 4 + end] = levels.splits[depth, end]
                    levels.cut[depth] = n_splits
                    n_splits += 1
            if levels.stage[depth] == 2:
                depth -= 1
                continue
            # Open the left child (stage 0) or the right child (stage 1).
            to_left = levels.stage[depth] == 0
            levels.stage[depth] += 1
            point_sum[:] = levels.sums[depth]
            if not to_left:
                rewind(trail, levels.trail[depth], frame.reshape(frame.size), levels.slots[depth])
            open_child(levels, depth, to_left, splits, settled.forced)
            anew = gains_by_building(levels, depth, form)
            if not anew and may_share(levels, depth):
                n_choices += to_left
                share_frame(levels, depth, rows, n_choices if to_left else levels.choice[depth])
                depth += 1
                continue
            renumber_slots(levels, depth, rows, width, place)
            count = levels.n_active[depth]
            pool = enlarged(pool, levels.offset[depth + 1] + width * count * count)
            frame = frame_at(pool, levels, depth, width)
            child_frame = frame_at(pool, levels, depth + 1, width)
            if anew:
                label_clusters(rows, count, tree, labels, sizes)
                levels.built[depth + 1] = levels.high[depth + 1] - levels.low[depth + 1]
                build_at(levels, depth + 1, child_frame, values, labels, sizes[:count])
            else:
                cut_frame(levels, depth, frame, child_frame, form, power)
            depth += 1
        point_sum[:] = first_sums
    keep_alive((values_, levels_))
    return (
        leaves[:n_leaves],
        leaf_info[:n_leaves],
        splits[:n_splits],
        split_marks[:n_splits],
        partitions[:n_partitions],
    )
