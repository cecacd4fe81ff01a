"""Merges on one frame: every merge that is certified on the whole interval of the frame.

A pair is merged when each cluster is proved to be the other's nearest.  Guesses of nearest
neighbours come from one coefficient and are made sure of only for pairs that would merge; a row
that cannot be decided is blocked until one of the two rivals is merged.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing, inlined
from certune.kernels.compare import (
    CROSSING,
    FARTHER,
    HOPELESS,
    NEARER,
    TOO_WIDE,
    next_doubtful_average,
    next_doubtful_enclosure,
    next_doubtful_end,
    set_bars,
)
from certune.kernels.cost_memory import recalled_cost
from certune.kernels.decisions import settle
from certune.kernels.enclosures import merge_enclosure
from certune.kernels.ends import merge_ends
from certune.kernels.frames import AVERAGE, ENDS, merge_average
from certune.kernels.identities import merge_enclosure_codes
from certune.kernels.pruning import fill_table, join
from certune.kernels.search_state import save_row
from certune.kernels.series import DEGREE, MAXIMUM, MINMAX

DONE, PLAIN, ZONE, UNKNOWN, IMPOSSIBLE = 0, 1, 2, 3, 4
CROSSING_ROW, WIDE_ROW = 1, 2  # why a row is blocked
LARGEST = np.int64(2**63 - 1)
POSITIONS = np.int64(2**20 - 1)  # bits of a key that hold its position


@borrowing
def guess_nearest(flat, lane, other, sign, start, width, x, active, n_active, keys, key_bits):
    """Nearest slot of x by one coefficient: a guess that must be made sure of.

    ``start`` is where the row of x starts; with ``other`` > 0 two lanes are added.  As integers,
    positive keys have the same order; their last bits are replaced by their position, so that
    the minimum tells where it is and the loops vectorise.
    """
    start += lane
    far = np.inf if sign > 0 else 0.0
    if other > 0:
        other -= lane
        for i in range(n_active):
            at = start + active[i] * width
            keys[i] = far if active[i] == x else flat[at] + flat[at + other]
    else:
        for i in range(n_active):
            keys[i] = far if active[i] == x else flat[start + active[i] * width]
    flip = np.int64(0) if sign > 0 else LARGEST
    least = LARGEST
    for i in range(n_active):
        least = min(least, ((key_bits[i] ^ flip) & ~POSITIONS) | i)
    return active[least & POSITIONS]


@inlined
def still_blocked(rows, x):
    """Say whether both clusters that block row x are still there."""
    stop = rows.stop
    marks = rows.marks
    return marks[stop[x, 0]] == stop[x, 2] and marks[stop[x, 1]] == stop[x, 3]


@inlined
def _resolve(
    frame,
    flat,
    flat_bits,
    bits,
    model,
    interval,
    ends,
    pairs,
    rows,
    n_active,
    tree,
    settled,
    exact,
    row,
    bars,
    evidence_arrays,
):
    """Find the nearest slot of a row for certain.

    Returns NEARER, or why that is not possible (the row is then blocked) or HOPELESS.
    """
    slots = frame.shape[0]
    form = model.form
    kind = model.kind
    sign = model.sign
    error = model.error
    active = rows.active
    nearest = rows.nearest
    bar_bits = bars.view(np.int64)
    flip = np.int64(0) if sign > 0 else np.int64(-1)
    near = nearest[row]
    rival = -1
    switches = 0
    code = NEARER
    set_bars(frame, form, kind, sign, row, near, error, bars)
    j = 0
    while True:
        if form == AVERAGE:
            start = row * slots * DEGREE
            j = next_doubtful_average(flat_bits, bar_bits, flip, start, active, j, n_active)
        elif form == ENDS:
            start = row * slots * 8
            j = next_doubtful_end(flat, bars[0], bars[1], kind, sign, start, active, j, n_active)
        else:
            j = next_doubtful_enclosure(frame, form, kind, sign, row, bars, active, j, n_active)
        if j == n_active:
            break
        z = active[j]
        j += 1
        if z == row or z == near:
            continue
        rival = z
        code = settle(
            frame,
            bits,
            model,
            interval,
            ends,
            pairs,
            rows,
            tree,
            settled,
            exact,
            row,
            near,
            z,
            evidence_arrays,
        )
        if code == NEARER:
            continue
        if code != FARTHER:
            break
        switches += 1
        if switches > slots + 2:
            code = TOO_WIDE
            break
        rival = near
        near = z
        set_bars(frame, form, kind, sign, row, near, error, bars)
        code = NEARER
        j = 0
    nearest[row] = near
    if code == NEARER:
        rows.resolved[row] = True
        rows.blocked[row] = 0
    elif code != HOPELESS:
        zone = evidence_arrays[2]
        extent = interval[1] - interval[0]
        rows.blocked[row] = CROSSING_ROW if code == CROSSING else WIDE_ROW
        rows.stop[row, 0] = near
        rows.stop[row, 1] = rival
        rows.stop[row, 2] = rows.marks[near]
        rows.stop[row, 3] = rows.marks[rival]
        rows.zones[row, 0] = interval[0] + zone[0] * extent
        # A zone that is cut at the end of the interval ends there, without a rounding.
        until = interval[1] if zone[1] >= 1.0 else interval[0] + zone[1] * extent
        rows.zones[row, 1] = min(interval[1], until)
        rows.zones[row, 2] = zone[2]
        rows.zones[row, 3] = zone[3]
    return code


@inlined
def _new_node(rows, tree, costs, n_nodes, x, y, last):
    """Make the node of the union of slots x and y; ``last``: is it the root?"""
    size = tree.size
    highest = tree.highest
    a = rows.marks[x]
    b = rows.marks[y]
    if highest[a] > highest[b]:
        a, b = b, a
    node = n_nodes[0]
    n_nodes[0] += 1
    tree.left[node] = a
    tree.right[node] = b
    highest[node] = highest[b]
    if not last or costs.k == 1:
        costs.cost[node], costs.pair_sum[node] = recalled_cost(
            costs.objective,
            costs.reference,
            tree.head,
            tree.tail,
            tree.nxt,
            size,
            a,
            b,
            costs.point_sum,
            costs.pair_sum,
            costs.scratch,
            costs.hashes,
            node,
            costs.memory,
        )
    join(node, a, b, tree.head, tree.tail, tree.nxt, size)
    fill_table(
        costs.objective,
        node,
        tree.left,
        tree.right,
        size,
        costs.cost,
        costs.k,
        costs.table,
        costs.split,
    )
    return node


@inlined
def take_out(y, x, active, n_active, nearest, resolved):
    """Take slot y, merged into x, out of the active ones; forget what pointed at x or y.

    Returns the number of active slots.
    """
    kept = 0
    nearest[x] = -1
    resolved[x] = False
    for i in range(n_active):
        z = active[i]
        if z == y:
            continue
        active[kept] = z
        kept += 1
        if nearest[z] == x or nearest[z] == y:
            nearest[z] = -1
            resolved[z] = False
    return kept


@borrowing
def _row_to_split(rows, n_active, interval):
    """Find the row whose order changes nearest to the middle of the interval, -1 if none does."""
    middle = interval[0] + 0.5 * (interval[1] - interval[0])
    distance = np.inf
    chosen = -1
    for i in range(n_active):
        x = rows.active[i]
        if rows.blocked[x] == CROSSING_ROW and still_blocked(rows, x):
            away = abs(0.5 * (rows.zones[x, 0] + rows.zones[x, 1]) - middle)
            if away < distance:
                distance = away
                chosen = x
    return chosen


@borrowing
def agglomerate(
    frame,
    model,
    interval,
    ends,
    pairs,
    rows,
    n_active,
    tree,
    costs,
    n_nodes,
    settled,
    exact,
    trail,
    choice,
    best,
    keys,
    bars,
    evidence_arrays,
):
    """Carry out every merge that is certified on the interval.

    Returns (status, active slots left).  ``best`` receives the slot whose row is to be split.
    Nearest neighbours that go round in a circle of more than two are IMPOSSIBLE: with the tie rule
    pairs of clusters have a strict order at every parameter, so what was settled on this branch
    holds nowhere on the interval.
    """
    slots = frame.shape[0]
    width = frame.shape[2]
    form = model.form
    flat = frame.reshape(frame.size)
    flat_bits = flat.view(np.int64)
    bits = frame.view(np.int64)
    marks = rows.marks
    active = rows.active
    nearest = rows.nearest
    resolved = rows.resolved
    blocked = rows.blocked
    size = tree.size
    key_bits = keys.view(np.int64)
    sign = model.sign
    lane = model.lane
    other = DEGREE + lane if model.kind == MINMAX else 0
    if form == ENDS:
        lane = 4 if model.kind == MAXIMUM else 0
        other = 4 if model.kind == MINMAX else 0
    fresh = True
    for i in range(n_active):
        fresh = fresh and nearest[active[i]] < 0
    progress = True
    forced = False
    while n_active > 1 and (progress or not fresh or (model.point and not forced)):
        # At a point guesses that go round in a circle are made sure of, one by one.
        forced = not progress and fresh
        if not progress:
            # Guesses from the parent's interval may hide a pair: guess again, once.
            for i in range(n_active):
                x = active[i]
                if not resolved[x]:
                    nearest[x] = -1
            fresh = True
        progress = False
        i = 0
        while i < n_active:
            x = active[i]
            i += 1
            if blocked[x] != 0:
                if still_blocked(rows, x):
                    continue
                blocked[x] = 0
            if nearest[x] < 0:
                nearest[x] = guess_nearest(
                    flat,
                    lane,
                    other,
                    sign,
                    x * slots * width,
                    width,
                    x,
                    active,
                    n_active,
                    keys,
                    key_bits,
                )
            y = nearest[x]
            if nearest[y] < 0:
                nearest[y] = guess_nearest(
                    flat,
                    lane,
                    other,
                    sign,
                    y * slots * width,
                    width,
                    y,
                    active,
                    n_active,
                    keys,
                    key_bits,
                )
            if not resolved[x] and nearest[y] != x and not forced:
                continue
            merged = False
            stopped = False
            for _ in range(2 * n_active + 2):
                for turn in range(2):
                    row = x if turn == 0 else nearest[x]
                    if resolved[row]:
                        continue
                    if blocked[row] != 0 and still_blocked(rows, row):
                        stopped = True
                        break
                    if nearest[row] < 0:
                        nearest[row] = guess_nearest(
                            flat,
                            lane,
                            other,
                            sign,
                            row * slots * width,
                            width,
                            row,
                            active,
                            n_active,
                            keys,
                            key_bits,
                        )
                    code = _resolve(
                        frame,
                        flat,
                        flat_bits,
                        bits,
                        model,
                        interval,
                        ends,
                        pairs,
                        rows,
                        n_active,
                        tree,
                        settled,
                        exact,
                        row,
                        bars,
                        evidence_arrays,
                    )
                    if code == HOPELESS:
                        return UNKNOWN, n_active
                    if code != NEARER:
                        stopped = True
                        break
                if stopped:
                    break
                y = nearest[x]
                if nearest[y] == x:
                    merged = True
                    break
                x = y
            if not merged and not stopped and not model.point:
                return IMPOSSIBLE, n_active
            if not merged:
                continue
            y = nearest[x]
            progress = True
            size_x = size[marks[x]]
            size_y = size[marks[y]]
            node = _new_node(rows, tree, costs, n_nodes, x, y, n_active == 2)
            n_active = take_out(y, x, active, n_active, nearest, resolved)
            marks[x] = node
            marks[y] = -1
            if n_active == 1:
                break
            save_row(trail, choice, flat, slots, x, active, n_active)
            if form == AVERAGE:
                total = size_x + size_y
                merge_average(flat, slots, x, y, size_x / total, size_y / total, active, n_active)
            elif form == ENDS:
                merge_ends(
                    frame, flat, flat_bits, pairs.ordered, model.error, x, y, active, n_active
                )
            else:
                merge_enclosure_codes(frame, bits, model.kind, model.error, x, y, active, n_active)
                merge_enclosure(frame, model.kind, x, y, active, n_active)
            i = 0 if i > n_active else i
    if n_active == 1:
        return DONE, n_active
    best[0] = _row_to_split(rows, n_active, interval)
    return ZONE if best[0] >= 0 else PLAIN, n_active
