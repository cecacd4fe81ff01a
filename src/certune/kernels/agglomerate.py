"""Merges on one frame: every merge that is certified on the whole interval of the frame.

A pair is merged when each cluster is proved to be the other's nearest.  Guesses of nearest
neighbours come from one coefficient and are made sure of only for pairs that would merge; a row
that cannot be decided is blocked until one of the two rivals is merged.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing, inlined
from certune.kernels.compare import (
    HOPELESS,
    NEARER,
)
from certune.kernels.cost_memory import recalled_cost
from certune.kernels.enclosures import merge_enclosure
from certune.kernels.ends import merge_ends
from certune.kernels.frames import AVERAGE, ENDS, merge_average
from certune.kernels.identities import merge_enclosure_codes
from certune.kernels.nearest_slots import guess_nearest, resolve, row_to_split, still_blocked
from certune.kernels.pruning import fill_table, join
from certune.kernels.search_state import save_row
from certune.kernels.series import DEGREE, MAXIMUM, MINMAX

DONE, PLAIN, ZONE, UNKNOWN, IMPOSSIBLE = 0, 1, 2, 3, 4


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
                    code = resolve(
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
    best[0] = row_to_split(rows, n_active, interval)
    return ZONE if best[0] >= 0 else PLAIN, n_active
