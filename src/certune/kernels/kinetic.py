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

from certune.kernels.borrowing import borrowing, bundled
from certune.kernels.certificates import (
    AGAIN,
    FAILS,
    HOLDS,
    LOCATED,
    UNCLEAR,
    Desk,
    Panel,
    set_basis,
    share_of,
    value_at,
)
from certune.kernels.cost_memory import point_hashes
from certune.kernels.ends import UNKNOWN_CODE, build_logs
from certune.kernels.frame_building import build_averages, fill_ends, last_joint_panel
from certune.kernels.frames import AVERAGE, frame_form, kind_of_values, pair_range, record_width
from certune.kernels.kinetic_state import Costs, Forest, Kept, Merging, Proofs, Records, State, Work
from certune.kernels.mending import replay
from certune.kernels.polish import polish
from certune.kernels.proving import is_stale, prove_again
from certune.kernels.pruning import K_MEANS, fill_table
from certune.kernels.records import bow, move_record
from certune.kernels.search_state import Pairs
from certune.kernels.series import DEGREE, MOVING, UNIT
from certune.kernels.tree_costs import cut, refresh_tables, union_cost
from certune.kernels.tree_records import ensure, place_of, set_chord

SPARE = 32  # nodes that a repair may make beyond those of a tree
MARGIN = 1e-3  # of a panel, added on both sides to a window left to the sweep
MOST_WINDOWS = 3  # in one panel; then its rest is left to the sweep
MOST_CHANGES_MIN = 8
MOST_STEPS = 64  # per cluster in one panel; then as well


@borrowing
def _sort_by_height(panel, records, forest, work, heights, share):
    """Order the merges by their values near a share of the panel (insertion, nearly sorted)."""
    n_merges = forest.n_first - 1
    set_basis(share, work.basis)
    for i in range(n_merges):
        node = forest.order[i]
        a = forest.left[node]
        b = forest.right[node]
        key = a * records.width + b
        if panel.dense and records.has_chord[key]:
            heights[node] = (1.0 - share) * records.starts[key] + share * records.ends[key]
            continue
        at = ensure(panel, records, forest, a, b, work.stack)
        heights[node] = value_at(panel, records.flat, at, share, work.basis)
    for i in range(1, n_merges):
        node = forest.order[i]
        j = i
        while (
            j > 0
            and heights[forest.order[j - 1]] > heights[node]
            and forest.order[j - 1] != forest.left[node]
            and forest.order[j - 1] != forest.right[node]
        ):
            forest.order[j] = forest.order[j - 1]
            j -= 1
        forest.order[j] = node
    for i in range(n_merges):
        node = forest.order[i]
        forest.stage[node] = i
        forest.until[forest.left[node]] = i
        forest.until[forest.right[node]] = i


@borrowing
def _first_failure(forest, proofs):
    """Node whose proof ends first, the one (-1: the same) that may be next, and where that is."""
    node = -1
    other = -1
    low = np.inf
    second = np.inf
    for i in range(forest.n_first - 1):
        here = forest.order[i]
        if proofs.low[here] < low:
            second = low
            other = node
            low = proofs.low[here]
            node = here
        elif proofs.low[here] < second:
            second = proofs.low[here]
            other = here
    if node >= 0 and proofs.second[node] < second:
        second = proofs.second[node]
        other = -1
    return node, other, second


@borrowing
def _mark_failure(forest, proofs, node, marks):
    """Mark the members of the row, its nearest and its rival by 1, 2, 3."""
    row = proofs.row[node]
    near = forest.left[node] if forest.right[node] == row else forest.right[node]
    marks[:] = 0
    mark = 1
    for cluster in (row, near, proofs.rival[node]):
        for i in range(forest.size[cluster]):
            marks[forest.members[cluster, i]] = mark
        mark += 1


@borrowing
def _copy(source, target, count):
    for i in range(count):
        target[i] = source[i]


@borrowing
def _keep(forest, proofs, kept):
    """Copy what a repair changes."""
    width = forest.stage.size
    n_merges = forest.n_first - 1
    _copy(forest.left, kept.left, width)
    _copy(forest.right, kept.right, width)
    _copy(forest.order, kept.order, n_merges)
    _copy(forest.until, kept.until, width)
    _copy(forest.spare, kept.spare, kept.spare.size)
    for i in range(n_merges):
        node = forest.order[i]
        kept.ends[i, 0] = proofs.low[node]
        kept.ends[i, 1] = proofs.high[node]
        kept.ends[i, 2] = proofs.second[node]
        kept.causes[i, 0] = proofs.code[node]
        kept.causes[i, 1] = proofs.row[node]
        kept.causes[i, 2] = proofs.rival[node]
        kept.causes[i, 3] = proofs.rival_version[node]


@borrowing
def _put_back(forest, proofs, kept):
    """Undo a repair, which must not have used nodes of the old tree for new ones."""
    width = forest.stage.size
    n_merges = forest.n_first - 1
    _copy(kept.left, forest.left, width)
    _copy(kept.right, forest.right, width)
    _copy(kept.order, forest.order, n_merges)
    _copy(kept.until, forest.until, width)
    _copy(kept.spare, forest.spare, kept.spare.size)
    for i in range(n_merges):
        node = forest.order[i]
        forest.stage[node] = i
        proofs.low[node] = kept.ends[i, 0]
        proofs.high[node] = kept.ends[i, 1]
        proofs.second[node] = kept.ends[i, 2]
        proofs.code[node] = kept.causes[i, 0]
        proofs.row[node] = kept.causes[i, 1]
        proofs.rival[node] = kept.causes[i, 2]
        proofs.rival_version[node] = kept.causes[i, 3]


@borrowing
def _no_tree(forest, count, width):
    """Forget the tree."""
    forest.order[0] = -1
    forest.stage[:count] = -1
    spare = forest.spare
    for i in range(width - count):
        spare[i] = width - 1 - i
    spare[spare.size - 1] = width - count


@njit(cache=True, nogil=True)
def _grown(array):
    bigger = np.empty((2 * array.shape[0],) + array.shape[1:], dtype=array.dtype)
    bigger[: array.shape[0]] = array
    return bigger


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
):
    """Follow the tree along the panels (rows low, high), which touch each other.

    Arguments as in `certune.kernels.sweep.sweep`.  Returns leaves, leaf_info, splits, split_marks
    and partitions as there, and the windows that are left to it.
    """
    n = first.shape[0]
    count = n - n_made
    n_merges = count - 1
    width = 2 * count - 1 + SPARE
    lower = width  # nodes of the merges made before, and points, follow
    n_ids = width + n + n_made
    form = frame_form(kind, mode)
    smallest = 0.0
    largest = 0.0
    if mode != MOVING:
        smallest, largest = pair_range(mode, first, second, labels0, 0.0, 0.0)
        smallest = min(smallest, largest)
    pairs = Pairs(mode, first, second, power, input_error, pair_codes, ordered)
    flat = np.empty(8 * width * width)
    n_chords = width * width if form == AVERAGE else 1
    records = Records(
        flat,
        flat.view(np.int64),
        np.zeros(width * width, np.uint8),
        width,
        ordered,
        np.empty(n_chords),
        np.empty(n_chords),
        np.zeros(n_chords, np.uint8),
    )
    spare = np.empty(width - count + 1, np.int64)
    forest = Forest(
        count,
        np.zeros(n_ids, np.int64),
        np.zeros(n_ids, np.int64),
        np.ones(n_ids, np.int64),
        np.zeros(n_ids, np.int64),
        np.zeros(n_ids, np.int64),
        np.empty((n_ids, n), np.int32),
        np.full(n_merges, -1, np.int64),
        np.full(width, -1, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        spare,
    )
    with_sums = objective != K_MEANS
    costs = Costs(
        objective,
        reference,
        k,
        np.zeros(n_ids, np.int64),
        np.zeros(n_ids, np.int64),
        np.empty((n_ids if with_sums else 1, n), np.int64),
        np.zeros((n_ids, k + 1), np.int64),
        np.zeros((n_ids, k + 1), np.int64),
    )
    hashes = point_hashes(n, n)
    top = np.empty(count, np.int64)
    for node in range(lower, n_ids):
        if node < lower + n:
            forest.members[node, 0] = node - lower
            if with_sums:
                costs.sums[node, 0] = 0
            forest.hashes[node] = hashes[node - lower]
            forest.highest[node] = node - lower
        else:
            a = lower + left[node - lower]
            b = lower + right[node - lower]
            forest.left[node] = a
            forest.right[node] = b
            forest.size[node] = forest.size[a] + forest.size[b]
            forest.highest[node] = max(forest.highest[a], forest.highest[b])
            forest.hashes[node] = forest.hashes[a] + forest.hashes[b]
            forest.members[node, : forest.size[a]] = forest.members[a, : forest.size[a]]
            forest.members[node, forest.size[a] : forest.size[node]] = forest.members[
                b, : forest.size[b]
            ]
            union_cost(objective, reference, forest, costs, node)
        fill_table(
            objective,
            node,
            forest.left,
            forest.right,
            forest.size,
            costs.cost,
            k,
            costs.table,
            costs.split,
        )
        top[labels0[forest.members[node, 0]]] = node
    for x in range(count):
        node = top[x]
        forest.left[x] = forest.left[node]
        forest.right[x] = forest.right[node]
        forest.size[x] = forest.size[node]
        forest.highest[x] = forest.highest[node]
        forest.hashes[x] = forest.hashes[node]
        size = forest.size[node]
        forest.members[x, :size] = forest.members[node, :size]
        costs.cost[x] = costs.cost[node]
        costs.pair_sum[x] = costs.pair_sum[node]
        if with_sums:
            costs.sums[x, :size] = costs.sums[node, :size]
        costs.table[x] = costs.table[node]
        costs.split[x] = costs.split[node]
    _no_tree(forest, count, width)
    proofs = Proofs(
        np.full(width, np.inf),
        np.full(width, np.inf),
        np.full(width, np.inf),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
    )
    kept = Kept(
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.empty(n_merges, np.int64),
        np.empty(width, np.int64),
        np.empty(spare.size, np.int64),
        np.empty((n_merges, 3)),
        np.empty((n_merges, 4), np.int64),
    )
    work = Work(
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.zeros(1, np.int64),
        np.empty(width, np.int64),
        np.zeros(1, np.int64),
        np.zeros(width, np.bool_),
        np.empty(width, np.int64),
        np.zeros(width, np.bool_),
        np.empty(n_merges, np.int64),
        np.empty(4 * width + 4, np.int64),
        np.empty(DEGREE),
        np.empty(2 * width),
        np.empty(2 * width, np.int64),
        np.empty(3),
        np.zeros(3, np.int64),
        np.full(4, -1, np.int64),
        np.full(4, UNKNOWN_CODE),
        np.zeros(2, np.int64),
        np.zeros(width, np.bool_),
        np.zeros(width, np.bool_),
        np.zeros(width, np.bool_),
        np.zeros(2),
        np.empty((2 * width, 2), np.int64),
        np.empty((2 * width, 2)),
        np.empty((2 * width, 4), np.int64),
        np.zeros(n, np.int64),
    )
    merging = Merging(
        pair_codes,
        np.arange(3),
        np.empty(3, np.int64),
        np.empty(3, np.int64),
        np.empty(3, np.int64),
        np.zeros(n, np.int64),
    )
    pair = np.ones((1, 3, 8))
    bar = np.ones(2)
    coefficients = DEGREE if form == AVERAGE else 2
    desk = Desk(
        pair,
        pair.view(np.int64),
        pair.reshape(pair.size),
        bar,
        np.empty(coefficients),
        np.empty(coefficients),
        np.zeros(4),
        np.empty((10, DEGREE + 1)),
        np.empty(DEGREE * DEGREE),
        np.full(1, np.inf),
        np.empty(2 * DEGREE),
    )
    heights = np.empty(width)
    sizes = np.empty(count)
    for x in range(count):
        sizes[x] = forest.size[x]
    n_framed = 0 if form == AVERAGE else count
    frame = np.empty((n_framed, n_framed, record_width(kind, form)))
    if form != AVERAGE:
        codes = pair_codes.view(np.int64)
        build_logs(frame, first, codes, ordered, labels0, smallest - 1.0)
    return _follow_panels(
        kind,
        mode,
        first,
        second,
        offset,
        power,
        span,
        input_error,
        panels,
        tied,
        labels0,
        k,
        form,
        smallest,
        largest,
        pairs,
        sizes,
        frame,
        heights,
        records,
        forest,
        costs,
        proofs,
        kept,
        work,
        merging,
        desk,
    )


@njit(cache=True, nogil=True)
def _follow_panels(
    kind,
    mode,
    first,
    second,
    offset,
    power,
    span,
    input_error,
    panels,
    tied,
    labels0,
    k,
    form,
    smallest,
    largest,
    pairs,
    sizes,
    frame,
    heights,
    records_,
    forest_,
    costs_,
    proofs_,
    kept_,
    work_,
    merging_,
    desk_,
):
    records = bundled(records_)
    forest = bundled(forest_)
    costs = bundled(costs_)
    proofs = bundled(proofs_)
    kept = bundled(kept_)
    work = bundled(work_)
    merging = bundled(merging_)
    desk = bundled(desk_)
    state = bundled(State(records, forest, merging, desk, work, proofs))
    flat = records.flat
    n = labels0.size
    count = forest.n_first
    width = records.width
    frame_flat = frame.reshape(frame.size)
    labels = np.empty(n, np.int64)
    cut_stack = np.empty(2 * k + 2, np.int64)
    chord = np.arange(DEGREE) / (DEGREE - 1)
    marks = np.empty(n, np.uint8)

    leaves = np.empty((64, 2))
    leaf_info = np.empty((64, 3), np.int64)
    n_leaves = 0
    splits = np.empty((64, 4))
    split_marks = np.empty((64, n), np.uint8)
    n_splits = 0
    partitions = np.empty((64, n), np.int64)
    n_partitions = 0
    windows = np.empty((64, 2))
    n_windows = 0

    start = panels[0, 0]  # of the leaf under way
    from_split = -1
    current = -1  # its partition; -1: there is no leaf under way
    which = 0
    low = panels[0, 0]
    reach = np.inf  # width of panels in which changes are dense
    wanted = max(MOST_CHANGES_MIN, count // 4)
    while True:
        if form != AVERAGE:
            which = last_joint_panel(mode, power, span, panels, tied, which)
        high = panels[which, 1]
        dense = low + 1.25 * reach < high
        if dense:
            high = low + reach
        centre = 0.0
        if form == AVERAGE:
            error, sign, box_cox = build_averages(
                flat,
                width,
                False,
                pairs,
                offset,
                labels0,
                sizes,
                span,
                low,
                high,
                smallest,
                largest,
            )
        else:
            error, sign, box_cox, centre = fill_ends(
                frame, pairs, span, low, high, smallest, largest
            )
        t = low
        stuck = not error < 1e-2
        stuck_from = low
        stuck_to = high
        factor = (1.0 + error) / (1.0 - error) * (1.0 + 16.0 * UNIT)
        inner = error + 8.0 * (DEGREE + 1) * UNIT
        inner_factor = (1.0 + inner) / (1.0 - inner) * (1.0 + 16.0 * UNIT)
        slack = 1.0
        if dense and not stuck:
            bend = 0.0
            for x in range(count):
                for z in range(x + 1, count):
                    bend = max(bend, bow(flat, 8 * (x * width + z), chord))
            bend = bend * (1.0 + 2.0**-20) + 32.0 * UNIT
            dense = bend < 0.25
            slack = factor * (1.0 + bend) / (1.0 - bend) * (1.0 + 32.0 * UNIT)
        panel = bundled(
            Panel(
                form,
                kind_of_values(kind, sign),
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
                dense and not stuck,
                slack if sign > 0 else 1.0 / slack,
            )
        )
        desk.window_from[0] = np.inf
        if not stuck:
            records.known[:] = 0
            for x in range(count):
                if form != AVERAGE:
                    for z in range(x + 1, count):
                        move_record(frame_flat, 8 * (x * count + z), flat, 8 * (x * width + z))
                records.known[x * width + x + 1 : x * width + count] = 1
        if panel.dense:
            records.has_chord[:] = 0
            for x in range(count):
                for z in range(x + 1, count):
                    set_chord(records, sign, x, z)
        n_here = 0
        n_changes = 0
        n_steps = 0
        begin = not stuck  # is the tree to be built from t on?
        settled = -np.inf  # end of the zone of the last change
        while True:
            repaired = -1  # stage from which on the tree has changed
            if begin:
                begin = False
                settled = -np.inf
                work.forced[0] = -1
                work.forced_codes[:] = UNKNOWN_CODE
                has_tree = forest.order[0] >= 0
                code = replay(panel, state, 0, -1, t, t)
                if code == HOLDS and not has_tree:
                    refresh_tables(forest, costs, work, 0)
                    _sort_by_height(panel, records, forest, work, heights, share_of(panel, t))
                    code = replay(panel, state, 0, -1, t, t)
                if code == HOLDS:
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
                node, other, following = _first_failure(forest, proofs)
                if node < 0:
                    _sort_by_height(panel, records, forest, work, heights, 1.0)
                    break
                from_low = proofs.low[node]
                to_high = proofs.high[node]
                if form == AVERAGE and n_changes >= 2 * wanted and from_low > settled > low:
                    # Too many changes for such a wide panel: it ends here.
                    high = settled
                    _sort_by_height(panel, records, forest, work, heights, share_of(panel, high))
                    break
                crowded = following <= to_high or from_low <= settled
                looked_at = node
                if following <= to_high and proofs.code[node] == LOCATED and other >= 0:
                    looked_at = other
                stale = is_stale(forest, proofs, looked_at)
                if stale or proofs.code[looked_at] == AGAIN:
                    again = t if stale or looked_at == other else from_low
                    code = prove_again(panel, state, looked_at, again)
                    if code == HOLDS:
                        continue
                    stuck = True
                    stuck_from = from_low
                    stuck_to = max(from_low, work.zone[1]) if code == UNCLEAR else from_low
                elif crowded:
                    if form == AVERAGE and proofs.code[looked_at] == FAILS:
                        _mark_failure(forest, proofs, looked_at, marks)
                        narrow_low, narrow_high, _ = polish(
                            kind,
                            mode,
                            first,
                            second,
                            power,
                            marks,
                            proofs.low[looked_at],
                            proofs.high[looked_at],
                            1.0,
                            input_error,
                        )
                        if narrow_low < narrow_high:
                            proofs.low[looked_at] = narrow_low
                            proofs.high[looked_at] = narrow_high
                            proofs.code[looked_at] = LOCATED
                            continue
                    stuck = True
                    stuck_from = from_low
                    stuck_to = to_high
                else:
                    row = proofs.row[node]
                    near = forest.left[node] if forest.right[node] == row else forest.right[node]
                    rival = proofs.rival[node]
                    if n_splits == splits.shape[0]:
                        splits = _grown(splits)
                        split_marks = _grown(split_marks)
                    _mark_failure(forest, proofs, node, split_marks[n_splits])
                    work.forced[0] = row
                    work.forced[1] = near
                    work.forced[2] = rival
                    work.forced[3] = (
                        forest.version[row] + forest.version[near] + forest.version[rival]
                    )
                    work.zone[0] = to_high
                    if form != AVERAGE:
                        for side in range(2):
                            at = place_of(records, row, near if side == 0 else rival)
                            work.forced_codes[2 * side] = records.bits[at + 3]
                            work.forced_codes[2 * side + 1] = records.bits[at + 7]
                    stage = forest.stage[node]
                    located = proofs.code[node] == LOCATED or form != AVERAGE
                    if not located:
                        _keep(forest, proofs, kept)
                    code = replay(panel, state, stage, node, from_low, to_high)
                    if code == HOLDS:
                        repaired = stage
                        marked = n_splits
                        t = from_low
                        settled = to_high
                        n_changes += 1
                    elif not located and work.wrong[1] == 0:
                        # The old tree again, and the zone as narrow as can be.
                        _put_back(forest, proofs, kept)
                        narrow_low, narrow_high, _ = polish(
                            kind,
                            mode,
                            first,
                            second,
                            power,
                            split_marks[n_splits],
                            from_low,
                            to_high,
                            1.0,
                            input_error,
                        )
                        if narrow_low < narrow_high:
                            proofs.low[node] = narrow_low
                            proofs.high[node] = narrow_high
                            proofs.code[node] = LOCATED
                            continue
                        stuck = True
                        stuck_from = from_low
                        stuck_to = max(to_high, work.zone[1])
                    else:
                        stuck = True
                        stuck_from = from_low
                        stuck_to = max(to_high, work.zone[1])
            if repaired >= 0:
                refresh_tables(forest, costs, work, repaired)
                cut(forest, costs, labels, cut_stack)
                same = current >= 0
                if same:
                    for p in range(n):
                        if partitions[current, p] != labels[p]:
                            same = False
                            break
                if same:
                    continue
                if n_leaves == leaves.shape[0]:
                    leaves = _grown(leaves)
                    leaf_info = _grown(leaf_info)
                if current >= 0:
                    leaves[n_leaves, 0] = start
                    leaves[n_leaves, 1] = to_high
                    leaf_info[n_leaves, 0] = from_split
                    leaf_info[n_leaves, 1] = marked
                    leaf_info[n_leaves, 2] = current
                    n_leaves += 1
                if marked >= 0:
                    splits[n_splits, 0] = from_low
                    splits[n_splits, 1] = to_high
                    splits[n_splits, 2] = 1.0
                    splits[n_splits, 3] = -1.0
                    n_splits += 1
                start = t
                from_split = marked
                current = -1
                for i in range(n_partitions - 1, -1, -1):
                    equal = True
                    for p in range(n):
                        if partitions[i, p] != labels[p]:
                            equal = False
                            break
                    if equal:
                        current = i
                        break
                if current < 0:
                    if n_partitions == partitions.shape[0]:
                        partitions = _grown(partitions)
                    partitions[n_partitions] = labels
                    current = n_partitions
                    n_partitions += 1
                continue
            # Stuck: the window around it is left to the other sweep.
            n_here += 1
            margin = MARGIN * (high - low) + 4.0 * (stuck_to - stuck_from)
            window_low = max(low, stuck_from - margin)
            window_high = min(high, stuck_to + margin)
            if n_here > MOST_WINDOWS or window_high > high - margin:
                window_high = high
            if current >= 0:
                window_low = max(window_low, start)
                if n_leaves == leaves.shape[0]:
                    leaves = _grown(leaves)
                    leaf_info = _grown(leaf_info)
                leaves[n_leaves, 0] = start
                leaves[n_leaves, 1] = window_low
                leaf_info[n_leaves, 0] = from_split
                leaf_info[n_leaves, 1] = -1
                leaf_info[n_leaves, 2] = current
                n_leaves += 1
            if n_here > 1 and windows[n_windows - 1, 1] >= window_low:
                windows[n_windows - 1, 1] = window_high
            else:
                if n_windows == windows.shape[0]:
                    windows = _grown(windows)
                windows[n_windows, 0] = window_low
                windows[n_windows, 1] = window_high
                n_windows += 1
            current = -1
            from_split = -1
            stuck = False
            begin = True
            _no_tree(forest, count, width)
            t = window_high
            start = t
            if window_high >= high:
                break
        if form == AVERAGE and (dense or n_changes > wanted):
            reach = (high - low) * min(4.0, wanted / max(1, n_changes))
        low = high
        if high >= panels[which, 1]:
            which += 1
            if which == panels.shape[0]:
                break
    if current >= 0:
        if n_leaves == leaves.shape[0]:
            leaves = _grown(leaves)
            leaf_info = _grown(leaf_info)
        leaves[n_leaves, 0] = start
        leaves[n_leaves, 1] = panels[panels.shape[0] - 1, 1]
        leaf_info[n_leaves, 0] = from_split
        leaf_info[n_leaves, 1] = -1
        leaf_info[n_leaves, 2] = current
        n_leaves += 1
    return (
        leaves[:n_leaves],
        leaf_info[:n_leaves],
        splits[:n_splits],
        split_marks[:n_splits],
        partitions[:n_partitions],
        windows[:n_windows],
    )
