"""The sweep as a kinetic data structure: follow one tree along the segment and mend it.

The tree of a panel's start is proved, merge by merge, from there on: each of the two clusters is
the other's nearest among those that are left at that stage.  Every proof knows until where it
holds.  Where the first one fails, only what depends on it is merged anew; clusters that come out
the same keep their records and their proofs.  The old tree is proved up to the end of the zone in
which the order changes, the new one from its beginning, so that leaves overlap as those of
`certune.kernels.sweep` do.  Windows in which this does not succeed (ties, changes that coincide)
are left to that sweep.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.borrowing import bundled, keep_alive
from certune.kernels.certificates import (
    AGAIN,
    FAILS,
    HOLDS,
    LOCATED,
    UNCLEAR,
    part_of,
)
from certune.kernels.chords import set_bars
from certune.kernels.dyadics import holds_coarse
from certune.kernels.ends import build_logs
from certune.kernels.failures import first_failure, force, mark_failure, narrow
from certune.kernels.frame_building import last_joint_panel
from certune.kernels.frames import AVERAGE, frame_form, pair_range, record_width
from certune.kernels.kinetic_panels import Model, build_records, new_ends, open_panel
from certune.kernels.kinetic_start import (
    first_clusters,
    new_desk,
    new_merging,
    new_proofs,
    new_records,
    new_work,
)
from certune.kernels.kinetic_state import Source, State
from certune.kernels.leaves import number_of, room_for, same_partition, write_leaf
from certune.kernels.meetings import Meetings
from certune.kernels.mending import replay
from certune.kernels.proving import is_stale, prove_again
from certune.kernels.search_state import Pairs
from certune.kernels.series import AFFINE, DEGREE, MOVING
from certune.kernels.tree_building import build_tree, no_tree, sort_by_height
from certune.kernels.tree_costs import cut, refresh_tables

MARGIN = 1e-3  # of a panel, added on both sides to a window left to the sweep
MOST_WINDOWS = 3  # in one panel; then its rest is left to the sweep
MOST_STEPS = 64  # per cluster in one panel; then as well
# Panels are cut so that about this many changes per cluster, and no fewer, fall into one ...
CHANGES_PER_CLUSTER, FEWEST_CHANGES = 0.25, 8
FINEST_CUT = 2.0**-8  # ... but into parts of this size at least
# Where more than this share of a panel is unclear, narrower and more accurate ones are tried.
WIDE, NARROWER = 2.0**-6, 2.0**-4


@njit(cache=True, nogil=True)
def follow(
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
    tied,
    labels0,
    left,
    right,
    n_made,
    objective,
    reference,
    k,
    room,
    low_codes,
    low_exact,
    high_codes,
    high_exact,
):
    """Follow the tree along the panels (rows low, high), which touch each other.

    Arguments as in `certune.kernels.sweep.sweep`, work space of the shape `room_for_records`,
    and codes of `certune.kernels.meetings` for both ends with whether they are exact.
    Returns leaves, leaf_info, splits, split_marks and partitions as there, the windows that are
    left to it, and the number of trees outside of them.
    """
    n = first.shape[0]
    count = n - n_made
    form = frame_form(kind, mode)
    average = form == AVERAGE
    smallest = 0.0
    largest = 0.0
    if mode != MOVING:
        smallest, largest = pair_range(mode, first, second, labels0, 0.0, 0.0)
        smallest = min(smallest, largest)
    # What the bundles below point to; `keep_alive` at the end says so.
    pairs_ = Pairs(mode, first, second, power, input_error, pair_codes, ordered)
    records_ = new_records(room, average, ordered)
    width = records_.width
    forest_, costs_ = first_clusters(labels0, left, right, n_made, width, objective, reference, k)
    proofs_ = new_proofs(width)
    work_ = new_work(count, width, n)
    merging_ = new_merging(pair_codes)
    desk_ = new_desk(DEGREE if average else 2)
    n_framed = 0 if average else count
    frame = np.empty((n_framed, n_framed, record_width(kind, form)))
    if not average:
        build_logs(frame, first, pair_codes.view(np.int64), ordered, labels0, smallest - 1.0)
    sizes = forest_.size[:count].astype(np.float64)
    source_ = Source(kind, form, pairs_, offset, span, labels0, sizes, smallest, largest, frame)
    source = bundled(source_)
    records = bundled(records_)
    forest = bundled(forest_)
    costs = bundled(costs_)
    proofs = bundled(proofs_)
    work = bundled(work_)
    desk = bundled(desk_)
    meetings_ = Meetings(
        panels[0, 0],
        panels[panels.shape[0] - 1, 1],
        low_codes,
        high_codes,
        low_exact,
        high_exact,
    )
    state = bundled(
        State(
            bundled(pairs_),
            records,
            forest,
            bundled(merging_),
            desk,
            work,
            proofs,
            bundled(meetings_),
        )
    )
    labels = np.empty(n, np.int64)
    cut_stack = np.empty(3 * k, np.int64)
    ends = new_ends(count if average else 0)

    leaves = np.empty((64, 2))
    leaf_info = np.empty((64, 3), np.int64)
    n_leaves = 0
    splits = np.empty((64, 6))
    split_marks = np.empty((64, n), np.uint8)
    n_splits = 0
    partitions = np.empty((64, n), np.int64)
    n_partitions = 0
    windows = np.empty((64, 2))
    n_windows = 0
    n_trees = 1

    no_tree(forest)
    start = panels[0, 0]  # of the leaf under way
    from_split = -1
    current = -1  # its partition; -1: there is no leaf under way
    which = 0
    low = panels[0, 0]
    wanted = max(FEWEST_CHANGES, int(CHANGES_PER_CLUSTER * count))  # changes in a panel
    sharing = mode == AFFINE and average  # do parts of a panel share its records?
    # Width of the next panel; along product segments changes may be dense from the start.
    reach = (panels[0, 1] - low) / 16.0 if sharing else np.inf
    built = -1  # the panel whose records they share, -1: none
    alone = False  # does the next part need records of its own?
    model = Model(low, low, np.inf, 1, False, 0.0)
    while which < panels.shape[0]:
        if not average:
            which = last_joint_panel(mode, power, span, panels, tied, which)
        high = panels[which, 1]
        finest = FINEST_CUT * (high - panels[which, 0])
        step = max(reach, finest)
        dense = low < low + step and (low + 1.25 * step < high or built == which)
        if dense and low + 1.25 * step < high:
            high = low + step
        if not (dense and sharing) or alone:
            built = -1
            model = build_records(source, records, low, high)
        elif built != which:
            built = which
            model = build_records(source, records, panels[which, 0], panels[which, 1])
        alone = False
        panel_ = open_panel(
            source, records, model, forest.until, work.stack, ends, work.basis, low, high, dense
        )
        if built == which and not panel_.dense:
            # Chords are of no use: this part needs records of its own.
            built = -1
            model = build_records(source, records, low, high)
            panel_ = open_panel(
                source, records, model, forest.until, work.stack, ends, work.basis, low, high, False
            )
        panel = bundled(panel_)
        desk.window_from[0] = np.inf
        work.depth[:] = 0
        set_bars(panel, work.bars, 0)
        t = low
        stuck = panel_.error == np.inf
        stuck_from = low
        stuck_to = high
        n_here = 0
        n_steps = 0
        n_changes = 0
        too_wide = False
        begin = not stuck  # is the tree to be built from t on?
        settled = -np.inf  # end of the zone of the last change
        while True:
            repaired = -1  # stage from which on the tree has changed
            if begin:
                begin = False
                settled = -np.inf
                if build_tree(panel, state, costs, t) == HOLDS:
                    repaired = 0
                else:
                    stuck = True
                    stuck_from = t
                    stuck_to = max(t, work.zone[1])
            from_low = t
            to_high = t
            marked = -1
            n_steps += 1
            if not stuck and n_steps > MOST_STEPS * count:
                stuck = True
                stuck_from = t
                stuck_to = high
            if not stuck and repaired < 0:
                node, other, following = first_failure(forest, proofs)
                if node < 0:
                    sort_by_height(panel, records, forest, work, 1.0)
                    break
                from_low = proofs.low[node]
                to_high = proofs.high[node]
                if average and n_changes >= 2 * wanted and settled < from_low:
                    if settled > low + finest:
                        # Too many changes for such a wide panel: it ends here.
                        high = settled
                        sort_by_height(panel, records, forest, work, part_of(panel, high))
                        break
                crowded = following <= to_high or from_low <= settled
                looked_at = node
                if following <= to_high and proofs.code[node] == LOCATED and other >= 0:
                    looked_at = other
                stale = is_stale(forest, proofs, looked_at)
                if stale or proofs.code[looked_at] == AGAIN:
                    again = t if stale or looked_at == other else from_low
                    code = prove_again(panel, state, looked_at, again)
                    if code == UNCLEAR and again > t:
                        # The bound lies in the zone of the failure: look from farther off.
                        code = prove_again(panel, state, looked_at, t)
                        if code == HOLDS and proofs.code[looked_at] == AGAIN:
                            code = UNCLEAR
                    if code == HOLDS:
                        continue
                    stuck = True
                    stuck_from = from_low
                    stuck_to = max(from_low, work.zone[1]) if code == UNCLEAR else from_low
                elif crowded:
                    if average and proofs.code[looked_at] == FAILS:
                        if narrow(panel, state, looked_at):
                            continue
                    stuck = True
                    stuck_from = from_low
                    stuck_to = to_high
                else:
                    splits = room_for(splits, n_splits)
                    split_marks = room_for(split_marks, n_splits)
                    mark_failure(forest, proofs, node, split_marks[n_splits])
                    force(form, records, forest, proofs, work, node)
                    stage = forest.stage[node]
                    if replay(panel, state, stage, node, from_low, to_high) == HOLDS:
                        repaired = stage
                        marked = n_splits
                        t = from_low
                        settled = to_high
                        n_changes += 1
                    else:
                        stuck = True
                        stuck_from = from_low
                        stuck_to = max(to_high, work.zone[1])
            if repaired >= 0:
                differs = refresh_tables(forest, costs, work, repaired)
                if marked >= 0:
                    splits[n_splits, 0] = from_low
                    splits[n_splits, 1] = to_high
                    splits[n_splits, 2] = 1.0
                    splits[n_splits, 3] = -1.0
                    splits[n_splits, 4] = from_split
                    splits[n_splits, 5] = -1.0
                    # The tree at a tie may be another one than on both sides of it.
                    n_splits += holds_coarse(from_low, to_high)
                    if not differs:
                        continue
                    n_trees += 1
                cut(forest, costs, labels, cut_stack)
                if current >= 0:
                    if same_partition(partitions, current, labels):
                        continue
                    leaves = room_for(leaves, n_leaves)
                    leaf_info = room_for(leaf_info, n_leaves)
                    write_leaf(
                        leaves, leaf_info, n_leaves, start, to_high, from_split, marked, current
                    )
                    n_leaves += 1
                if marked >= 0:
                    n_splits = marked + 1
                start = t
                from_split = marked
                partitions = room_for(partitions, n_partitions)
                current = number_of(labels, partitions, n_partitions)
                n_partitions = max(n_partitions, current + 1)
                continue
            narrower = NARROWER * (high - low)
            wide = stuck_to - stuck_from > WIDE * (high - low) and narrower > finest
            # Records of their own may tell apart what those of the whole panel do not.
            inaccurate = built == which and settled < stuck_from
            too_wide = average and (wide or inaccurate) and low < low + narrower
            if too_wide:
                no_tree(forest)
                reach = narrower
                alone = True
                high = settled if t < settled < stuck_from else t
                break
            # The window around it is left to the other sweep.
            n_here += 1
            margin = MARGIN * (high - low) + 4.0 * (stuck_to - stuck_from)
            window_low = max(low, stuck_from - margin)
            window_high = min(high, stuck_to + margin)
            if n_here > MOST_WINDOWS or window_high > high - margin:
                window_high = high
            if current >= 0:
                window_low = max(window_low, start)
                leaves = room_for(leaves, n_leaves)
                leaf_info = room_for(leaf_info, n_leaves)
                write_leaf(leaves, leaf_info, n_leaves, start, window_low, from_split, -1, current)
                n_leaves += 1
            if n_here > 1 and windows[n_windows - 1, 1] >= window_low:
                windows[n_windows - 1, 1] = window_high
            else:
                windows = room_for(windows, n_windows)
                windows[n_windows, 0] = window_low
                windows[n_windows, 1] = window_high
                n_windows += 1
            current = -1
            from_split = -1
            stuck = False
            begin = True
            no_tree(forest)
            t = window_high
            start = t
            if window_high >= high:
                break
        if average and not too_wide and (dense or n_changes > wanted):
            reach = (high - low) * min(4.0, wanted / max(1, n_changes))
        low = high
        if high >= panels[which, 1]:
            which += 1
    if current >= 0:
        leaves = room_for(leaves, n_leaves)
        leaf_info = room_for(leaf_info, n_leaves)
        write_leaf(
            leaves,
            leaf_info,
            n_leaves,
            start,
            panels[panels.shape[0] - 1, 1],
            from_split,
            -1,
            current,
        )
        n_leaves += 1
    keep_alive(
        (source_, records_, forest_, costs_, proofs_, work_, merging_, desk_, pairs_, meetings_)
    )
    return (
        leaves[:n_leaves],
        leaf_info[:n_leaves],
        splits[:n_splits],
        split_marks[:n_splits],
        partitions[:n_partitions],
        windows[:n_windows],
        n_trees,
    )
