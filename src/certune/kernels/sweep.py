"""The sweep: every cluster tree that greedy linkage builds along a segment, certified.

Depth first over sub-intervals.  On a frame's interval all merges that are certified there are
carried out, and shared by everything below.  When the remaining candidates change their order
inside the interval, the interval is split there: the left part under one order, the right part
under the other, overlapping in the zone that holds the change.  A comparison settled by such a
split (or by the exact layer) is remembered on the branch.  Every leaf is one tree, pruned to k
clusters; where two leaves overlap the tree is one of the two.

Questions to the exact layer go through a C callback: what is asked is written to arrays that the
callback knows, and its result is the answer.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.agglomerate import (
    CROSSING_ROW,
    DONE,
    PLAIN,
    UNKNOWN,
    ZONE,
    agglomerate,
    still_blocked,
)
from certune.kernels.cost_memory import new_memory, point_hashes
from certune.kernels.decisions import (
    AT_HIGH_END,
    AT_LOW_END,
    AT_POINT,
    CROSSES,
    IDENTITY,
    MAX_DEPTH,
    mark_members,
)
from certune.kernels.ends import build_logs, build_point_ends, fill_end
from certune.kernels.frame_building import build, last_joint_panel, order_sign
from certune.kernels.frames import (
    AVERAGE,
    ENCLOSURE,
    ENDS,
    build_point_mean,
    frame_form,
    kind_of_values,
    pair_range,
    record_width,
    restrict_frame,
    restriction,
)
from certune.kernels.identities import remember
from certune.kernels.leaves import number_of, room_for, write_leaf
from certune.kernels.linking import linked
from certune.kernels.pruning import cut, fill_table, join, merged_cost
from certune.kernels.search_state import (
    Costs,
    Exact,
    Model,
    Pairs,
    Rows,
    Settled,
    Trail,
    Tree,
    rewind,
)
from certune.kernels.series import DEGREE, MOVING, UNIT

__all__ = ["AT_HIGH_END", "AT_LOW_END", "AT_POINT", "CROSSES", "IDENTITY", "sweep"]

MOST_PLAIN_CUTS = 500  # more cuts than this beyond four per split: intervals stay undecided
MOST_UNKNOWN_LEAVES = 1000  # after that many undecided leaves no interval is split any more
NARROW = 2.0**-42  # relative width below which an undecided interval is reported as such
ACCURATE = 1e-13  # models at least this accurate are not rebuilt to gain accuracy
SHARED = 0.25  # an interval shares the frame of its parent if it fills this much of it


@linked
def _room(pool, needed):
    """Return the pool, enlarged if it is too short."""
    if pool.size >= needed:
        return pool
    bigger = np.empty(max(needed, 2 * pool.size), dtype=pool.dtype)
    bigger[: pool.size] = pool
    return bigger


@linked
def _labels_of(marks, active, n_active, head, tail, nxt, labels, sizes, size):
    for i in range(n_active):
        node = marks[active[i]]
        sizes[i] = size[node]
        p = head[node]
        while True:
            labels[p] = i
            if p == tail[node]:
                break
            p = nxt[p]


@linked
def _frame_of(pool, start, slots, width):
    """View a frame inside the pool."""
    return pool[start : start + slots * slots * width].reshape((slots, slots, width))


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
    splits : float array (s, 4), split_marks : uint8 array (s, n)
        low, high, order left, order right; members of the three clusters.
    partitions : int array (r, n)
    """
    n = first.shape[0]
    n_nodes = 2 * n - 1
    head = np.empty(n_nodes, np.int64)
    tail = np.empty(n_nodes, np.int64)
    nxt = np.zeros(n, np.int64)
    size = np.ones(n_nodes, np.int64)
    highest = np.arange(n_nodes)
    cost = np.zeros(n_nodes, np.int64)
    pair_sum = np.zeros(n_nodes, np.int64)
    point_sum = np.zeros(n, np.int64)
    table = np.zeros((n_nodes, k + 1), np.int64)
    split = np.zeros((n_nodes, k + 1), np.int64)
    for p in range(n):
        head[p] = p
        tail[p] = p
        fill_table(objective, p, left, right, size, cost, k, table, split)
    scratch = np.zeros(2 * n, np.int64)
    hashes = point_hashes(n_nodes, n)
    memory = new_memory(n)
    top_of = np.empty(n, np.int64)
    for p in range(n):
        top_of[labels0[p]] = p
    for i in range(n_made):
        node = n + i
        a = left[node]
        b = right[node]
        highest[node] = max(highest[a], highest[b])
        cost[node], pair_sum[node] = merged_cost(
            objective, reference, head, tail, nxt, size, a, b, point_sum, pair_sum, scratch
        )
        hashes[node] = hashes[a] + hashes[b]
        join(node, a, b, head, tail, nxt, size)
        fill_table(objective, node, left, right, size, cost, k, table, split)
        p = head[node]
        while True:
            top_of[labels0[p]] = node
            if p == tail[node]:
                break
            p = nxt[p]
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
    tree = Tree(left, right, head, tail, nxt, size, highest)
    costs = Costs(
        objective,
        reference,
        k,
        cost,
        point_sum,
        pair_sum,
        table,
        split,
        scratch,
        hashes,
        memory,
    )
    forced = np.empty((1 << 14, 4), np.int64)
    n_forced = np.zeros(1, np.int64)
    settled = Settled(forced, np.empty((1 << 14, 4), np.int64), n_forced)
    exact = Exact(oracle, question, question_marks)
    trail = Trail(
        np.empty(8), np.empty(1, np.int64), np.zeros(1, np.int64), np.zeros(slots0, np.int64)
    )
    coefficients = 2 if form == ENDS else DEGREE
    evidence_arrays = (
        np.empty(coefficients),
        np.empty(coefficients),
        np.zeros(4),
        np.empty((10, DEGREE + 1)),
    )
    bars = np.empty(DEGREE)
    keys = np.empty(slots0)

    f_low = np.empty(MAX_DEPTH)
    f_high = np.empty(MAX_DEPTH)
    f_from = np.empty(MAX_DEPTH)  # the interval of the frame, which may be wider
    f_to = np.empty(MAX_DEPTH)
    f_error = np.empty(MAX_DEPTH)
    f_sign = np.empty(MAX_DEPTH, np.int64)
    f_offset = np.zeros(MAX_DEPTH, np.int64)
    f_box = np.zeros(MAX_DEPTH, np.bool_)
    f_centre = np.zeros(MAX_DEPTH)
    f_slots = np.empty(MAX_DEPTH, np.int64)
    f_active_count = np.empty(MAX_DEPTH, np.int64)
    f_nodes = np.empty(MAX_DEPTH, np.int64)
    f_forced = np.empty(MAX_DEPTH, np.int64)
    f_stage = np.empty(MAX_DEPTH, np.int64)
    f_splits = np.empty((MAX_DEPTH, 2), np.int64)
    f_ends = np.zeros((MAX_DEPTH, 2), np.bool_)
    f_cut = np.empty(MAX_DEPTH, np.int64)  # index of the split, -1: cut in the middle
    f_built = np.empty(MAX_DEPTH)
    f_choice = np.zeros(MAX_DEPTH, np.int64)
    f_trail = np.zeros(MAX_DEPTH, np.int64)
    n_choices = 0
    interval = np.empty(2)
    levels = 1 if point else MAX_DEPTH
    marks = np.empty((levels, slots0), np.int64)
    active = np.empty((levels, slots0), np.int64)
    nearest = np.empty((levels, slots0), np.int64)
    resolved = np.empty((levels, slots0), np.bool_)
    blocked = np.empty((levels, slots0), np.int64)
    stop = np.empty((levels, slots0, 4), np.int64)
    zones = np.empty((levels, slots0, 4))
    position_of = np.empty(slots0, np.int64)
    saved_sums = np.empty((levels, n), np.int64)
    made = np.zeros(1, np.int64)
    best = np.zeros(1, np.int64)
    labels = labels0.copy()
    sizes = np.empty(slots0)
    cut_stack = np.empty(3 * k, np.int64)
    flat = np.empty(n, np.int64)
    whole = np.empty(0)

    pool = np.empty(2 * width * slots0 * slots0 + 1)

    leaves = np.empty((64, 2))
    leaf_info = np.empty((64, 3), np.int64)
    n_leaves = 0
    n_plain = 0
    n_unknown = 0
    splits = np.empty((64, 4))
    split_marks = np.empty((64, n), np.uint8)
    n_splits = 0
    partitions = np.empty((64, n), np.int64)
    n_partitions = 0

    panel = 0
    while panel < panels.shape[0]:
        first_panel = panel
        if form == ENDS and not point:
            panel = last_joint_panel(mode, power, span, panels, ends, panel)
        f_low[0] = panels[first_panel, 0]
        f_high[0] = panels[panel, 1]
        f_from[0] = f_low[0]
        f_to[0] = f_high[0]
        f_slots[0] = slots0
        f_nodes[0] = n + n_made
        f_forced[0] = 0
        f_stage[0] = 0
        f_splits[0, 0] = -1
        f_splits[0, 1] = -1
        f_ends[0, 0] = ends[first_panel, 0]
        f_ends[0, 1] = ends[panel, 1]
        panel += 1
        f_active_count[0] = slots0
        for i in range(slots0):
            marks[0, i] = top_of[i]
            active[0, i] = i
        nearest[0] = -1
        resolved[0] = False
        blocked[0] = 0
        saved_sums[0] = point_sum
        base_sums = point_sum.copy()
        labels[:] = labels0
        for i in range(slots0):
            sizes[i] = size[top_of[i]]
        frame = _frame_of(pool, 0, slots0, width)
        if point:
            f_sign[0] = order_sign(power, span < 0, f_low[0], f_high[0])
            f_error[0] = point_error
            if form == AVERAGE:
                build_point_mean(frame, point_values, labels0, sizes)
            else:
                build_logs(
                    frame, first, pair_codes.view(np.int64), ordered, labels0, smallest - 1.0
                )
                build_point_ends(frame, point_values, labels0)
        else:
            f_error[0], f_sign[0], f_box[0], f_centre[0] = build(
                frame,
                form,
                kind,
                pairs,
                offset,
                labels,
                sizes,
                span,
                f_low[0],
                f_high[0],
                smallest,
                largest,
            )
        f_built[0] = f_high[0] - f_low[0]
        depth = 0
        while depth >= 0:
            slots = f_slots[depth]
            start = f_offset[depth]
            frame = _frame_of(pool, start, slots, width)
            kind_here = kind_of_values(kind, f_sign[depth])
            rows = Rows(
                marks[depth],
                active[depth],
                nearest[depth],
                resolved[depth],
                blocked[depth],
                stop[depth],
                zones[depth],
            )
            if f_stage[depth] == 0:
                made[0] = f_nodes[depth]
                n_forced[0] = f_forced[depth]
                count = f_active_count[depth]
                status = PLAIN
                if f_error[depth] < np.inf:
                    interval[0] = f_low[depth]
                    interval[1] = f_high[depth]
                    if f_choice[depth] > 0:
                        needed = trail.used[0] + count * count
                        trail = Trail(
                            _room(trail.records, 8 * needed),
                            _room(trail.places, needed),
                            trail.used,
                            trail.saved,
                        )
                    frame_width = f_to[depth] - f_from[depth]
                    share_low = 0.0
                    share_high = 1.0
                    if frame_width > 0.0:
                        share_low = (f_low[depth] - f_from[depth]) / frame_width
                        share_high = (f_high[depth] - f_from[depth]) / frame_width
                    cut_low = f_low[depth] > f_from[depth]
                    cut_high = f_high[depth] < f_to[depth]
                    model = Model(
                        form,
                        kind_here,
                        f_sign[depth],
                        f_error[depth],
                        point,
                        f_box[depth],
                        f_centre[depth],
                        cut_low,
                        cut_high,
                        int(0.5 * (share_low + share_high) * (DEGREE - 1) + 0.5),
                        restriction(share_low, share_high)
                        if form == AVERAGE and (cut_low or cut_high)
                        else whole,
                    )
                    status, count = agglomerate(
                        frame,
                        model,
                        interval,
                        f_ends[depth],
                        pairs,
                        rows,
                        count,
                        tree,
                        costs,
                        made,
                        settled,
                        exact,
                        trail,
                        f_choice[depth],
                        best,
                        keys,
                        bars,
                        evidence_arrays,
                    )
                f_active_count[depth] = count
                f_nodes[depth] = made[0]
                f_forced[depth] = n_forced[0]
                extent = f_high[depth] - f_low[depth]
                narrow = extent <= NARROW * max(1.0, abs(f_low[depth]))
                if status == PLAIN:
                    n_plain += 1
                    if narrow or depth >= MAX_DEPTH - 2 or n_plain > MOST_PLAIN_CUTS + 4 * n_splits:
                        status = UNKNOWN
                if status == ZONE and depth >= MAX_DEPTH - 2:
                    status = UNKNOWN
                if status != DONE and n_unknown > MOST_UNKNOWN_LEAVES:
                    status = UNKNOWN
                if status == ZONE:
                    zone = zones[depth, best[0]]
                    wide = zone[1] - zone[0] > wide_zone * extent
                    if wide and f_error[depth] > ACCURATE and not narrow:
                        status = PLAIN
                    elif wide and narrow:
                        status = UNKNOWN
                if status == DONE or status == UNKNOWN:
                    which = -1
                    if status == UNKNOWN:
                        n_unknown += 1
                    else:
                        cut(made[0] - 1, left, right, split, head, tail, nxt, k, flat, cut_stack)
                        partitions = room_for(partitions, n_partitions)
                        which = number_of(flat, partitions, n_partitions)
                        n_partitions = max(n_partitions, which + 1)
                    leaves = room_for(leaves, n_leaves)
                    leaf_info = room_for(leaf_info, n_leaves)
                    write_leaf(
                        leaves,
                        leaf_info,
                        n_leaves,
                        f_low[depth],
                        f_high[depth],
                        f_splits[depth, 0],
                        f_splits[depth, 1],
                        which,
                    )
                    n_leaves += 1
                    depth -= 1
                    continue
                saved_sums[depth] = point_sum
                f_trail[depth] = trail.used[0]
                f_cut[depth] = -1
                if status == ZONE:
                    f_cut[depth] = n_splits
                    splits = room_for(splits, n_splits)
                    split_marks = room_for(split_marks, n_splits)
                    x = best[0]
                    y = stop[depth, x, 0]
                    z = stop[depth, x, 1]
                    splits[n_splits] = zones[depth, x]
                    mark_members(split_marks[n_splits], marks[depth], x, y, z, head, tail, nxt)
                    remember(
                        forced,
                        settled.codes,
                        f_forced[depth],
                        frame.view(np.int64),
                        form,
                        kind_here,
                        f_sign[depth],
                        marks[depth],
                        x,
                        y,
                        z,
                        0,
                    )
                    n_splits += 1
            if f_stage[depth] == 2:
                depth -= 1
                continue
            # Open the left child (stage 0) or the right child (stage 1).
            to_left = f_stage[depth] == 0
            f_stage[depth] += 1
            point_sum[:] = saved_sums[depth]
            if not to_left:
                rewind(trail, f_trail[depth], frame.reshape(frame.size), slots)
            child = depth + 1
            which = f_cut[depth]
            plain = which < 0
            if plain:
                position = f_low[depth] + 0.5 * (f_high[depth] - f_low[depth])
            else:
                position = splits[which, 1 if to_left else 0]
            f_low[child] = f_low[depth] if to_left else position
            f_high[child] = position if to_left else f_high[depth]
            f_splits[child] = f_splits[depth]
            f_ends[child] = f_ends[depth]
            f_forced[child] = f_forced[depth]
            if to_left:
                f_ends[child, 1] = f_ends[depth, 1] and position >= f_high[depth]
            else:
                f_ends[child, 0] = f_ends[depth, 0] and position <= f_low[depth]
            if not plain:
                f_splits[child, 1 if to_left else 0] = which
                forced[f_forced[depth], 3] = int(splits[which, 2 if to_left else 3])
                f_forced[child] = f_forced[depth] + 1
            f_stage[child] = 0
            f_nodes[child] = f_nodes[depth]
            f_sign[child] = f_sign[depth]
            f_built[child] = f_built[depth]
            f_box[child] = f_box[depth]
            f_centre[child] = f_centre[depth]
            f_error[child] = f_error[depth]
            child_width = f_high[child] - f_low[child]
            count = f_active_count[depth]
            f_active_count[child] = count
            rebuild = form == ENCLOSURE or (
                form == AVERAGE
                and f_error[depth] > ACCURATE
                and (plain or child_width < 1e-4 * f_built[depth])
            )
            if not (rebuild or plain) and child_width >= SHARED * (f_to[depth] - f_from[depth]):
                f_offset[child] = start
                f_slots[child] = slots
                f_from[child] = f_from[depth]
                f_to[child] = f_to[depth]
                f_choice[child] = f_choice[depth]
                if to_left:
                    n_choices += 1
                    f_choice[child] = n_choices
                for i in range(count):
                    x = active[depth, i]
                    active[child, i] = x
                    marks[child, x] = marks[depth, x]
                    nearest[child, x] = nearest[depth, x]
                    resolved[child, x] = resolved[depth, x]
                    blocked[child, x] = 0
                    if (
                        blocked[depth, x] == CROSSING_ROW
                        and f_low[child] < zones[depth, x, 0]
                        and zones[depth, x, 1] < f_high[child]
                        and still_blocked(rows, x)
                    ):
                        blocked[child, x] = CROSSING_ROW
                        stop[child, x] = stop[depth, x]
                        zones[child, x] = zones[depth, x]
                depth = child
                continue
            f_choice[child] = 0
            f_slots[child] = count
            f_from[child] = f_low[child]
            f_to[child] = f_high[child]
            for i in range(count):
                position_of[active[depth, i]] = i
            for i in range(count):
                x = active[depth, i]
                marks[child, i] = marks[depth, x]
                active[child, i] = i
                guess = nearest[depth, x]
                nearest[child, i] = position_of[guess] if guess >= 0 else -1
                resolved[child, i] = resolved[depth, x]
                blocked[child, i] = 0
            f_offset[child] = start + width * slots * slots
            pool = _room(pool, f_offset[child] + width * count * count)
            frame = _frame_of(pool, start, slots, width)
            child_frame = _frame_of(pool, f_offset[child], count, width)
            if rebuild:
                _labels_of(marks[depth], active[depth], count, head, tail, nxt, labels, sizes, size)
                f_built[child] = child_width
                f_error[child], f_sign[child], f_box[child], f_centre[child] = build(
                    child_frame,
                    form,
                    kind,
                    pairs,
                    offset,
                    labels,
                    sizes[:count],
                    span,
                    f_low[child],
                    f_high[child],
                    smallest,
                    largest,
                )
            elif form == ENDS:
                for end in range(2):
                    fill_end(
                        frame if end == 0 else child_frame,
                        child_frame,
                        active[depth] if end == 0 else active[child],
                        count,
                        power[0] + power[1] * (f_low[child] if end == 0 else f_high[child]),
                        f_box[child],
                        f_centre[child],
                        end,
                    )
            else:
                frame_width = f_to[depth] - f_from[depth]
                restrict_frame(
                    frame,
                    child_frame,
                    1,
                    active[depth],
                    count,
                    max(0.0, (f_low[child] - f_from[depth]) / frame_width),
                    min(1.0, (f_high[child] - f_from[depth]) / frame_width),
                )
                f_error[child] += 8.0 * DEGREE * UNIT
            depth = child
        point_sum[:] = base_sums
    return (
        leaves[:n_leaves],
        leaf_info[:n_leaves],
        splits[:n_splits],
        split_marks[:n_splits],
        partitions[:n_partitions],
    )
