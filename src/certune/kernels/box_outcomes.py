"""Every cluster tree that a box of parameters can have, up to a given number.

Merges that are certain on the whole box are carried out once.  Where the order of two cluster
pairs is open, both outcomes are followed: at any parameter of the box one of them is true, so its
tree is among those found.  Outcomes that contradict each other end without a tree.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.agglomerate import take_out
from certune.kernels.box_forest import LEFT, RIGHT, SIZE, add_node, merges_of, new_forest
from certune.kernels.box_neighbours import (
    CIRCLE,
    FARTHER,
    NEARER,
    Branch,
    Shape,
    guess,
    make_sure,
)
from certune.kernels.box_orders import merge_extremes
from certune.kernels.leaves import number_of
from certune.kernels.linking import linked
from certune.kernels.pruning import prune

FINISHED, BRANCHES, EMPTY = 0, 1, 2
MOST_OPEN = 6  # slots whose nearest is open: more of them have too many trees to try


@linked
def _merge_records(branch, shape, x, y, share_x, share_y, active, n_active):
    """Write the records of the union of x and y over those of x."""
    models = branch.models
    width = shape.n_intervals + shape.n_simplex + 3
    for i in range(n_active):
        z = active[i]
        if z == x:
            continue
        if branch.extremes.shape[0] > 1:
            merge_extremes(
                models,
                branch.extremes,
                x,
                y,
                z,
                shape.n_intervals,
                shape.n_simplex,
                shape.codes,
                shape.faces,
                shape.face_codes,
            )
        else:
            for c in range(width):
                value = share_x * models[x, z, c] + share_y * models[y, z, c]
                models[x, z, c] = value
                models[z, x, c] = value


@linked
def _grow(branch, shape, n_nodes, active, open_order):
    """Carry out all certain merges.

    Returns (status, active slots, nodes).  On BRANCHES, ``open_order`` are the three slots of an
    open order with the smallest value, and the number of slots whose nearest is open.
    """
    models = branch.models
    nodes = branch.nodes
    forest = branch.forest
    n_active = active.size
    nearest = np.full(n_active, -1, np.int64)
    resolved = np.zeros(n_active, np.bool_)
    rival = np.full(n_active, -1, np.int64)
    rival_nodes = np.zeros((n_active, 2), np.int64)
    thorough = False
    while n_active > 1:
        progress = False
        i = 0
        while i < n_active:
            x = active[i]
            i += 1
            if nearest[x] < 0:
                nearest[x] = guess(models, x, active, n_active)
            y = nearest[x]
            if nearest[y] < 0:
                nearest[y] = guess(models, y, active, n_active)
            if nearest[y] != x and not thorough:
                continue
            sure = True
            for turn in range(2):
                row = x if turn == 0 else nearest[x]
                if resolved[row]:
                    continue
                if rival[row] >= 0:
                    if (
                        nodes[nearest[row]] == rival_nodes[row, 0]
                        and nodes[rival[row]] == rival_nodes[row, 1]
                    ):
                        sure = False
                        break
                    rival[row] = -1
                if nearest[row] < 0:
                    nearest[row] = guess(models, row, active, n_active)
                before = nearest[row]
                z = make_sure(branch, shape, active, n_active, nearest, row)
                if z == CIRCLE:
                    return EMPTY, n_active, n_nodes
                progress = progress or nearest[row] != before
                if z >= 0:
                    rival[row] = z
                    rival_nodes[row, 0] = nodes[nearest[row]]
                    rival_nodes[row, 1] = nodes[z]
                    sure = False
                    break
                resolved[row] = True
            y = nearest[x]
            if not sure or nearest[y] != x:
                continue
            progress = True
            a, b = nodes[x], nodes[y]
            add_node(forest, n_nodes, a, b)
            total = forest[SIZE, a] + forest[SIZE, b]
            share_x = forest[SIZE, a] / total
            share_y = forest[SIZE, b] / total
            nodes[x] = n_nodes
            nodes[y] = -1
            n_nodes += 1
            n_active = take_out(y, x, active, n_active, nearest, resolved)
            _merge_records(branch, shape, x, y, share_x, share_y, active, n_active)
            if n_active == 1:
                break
            i = 0 if i > n_active else i
        if not progress:
            if thorough:
                break
            thorough = True
        else:
            thorough = False
    if n_active == 1:
        return FINISHED, n_active, n_nodes
    chosen = -1
    least = np.inf
    open_order[3] = 0
    for i in range(n_active):
        x = active[i]
        open_order[3] += rival[x] >= 0
        if rival[x] >= 0 and (chosen < 0 or models[x, nearest[x], 0] < least):
            chosen = x
            least = models[x, nearest[x], 0]
    if chosen < 0:
        return EMPTY, n_active, n_nodes
    open_order[0] = chosen
    open_order[1] = nearest[chosen]
    open_order[2] = rival[chosen]
    return BRANCHES, n_active, n_nodes


@linked
def _kept(table, active, n_active):
    """Copy the rows and columns of the active slots."""
    result = np.empty((n_active, n_active, table.shape[2]), table.dtype)
    for i in range(n_active):
        for j in range(n_active):
            result[i, j] = table[active[i], active[j]]
    return result


@linked
def _assuming(branch, open_order, order, active, n_active):
    """Continue a branch under one outcome of an open order."""
    nodes = branch.nodes
    extremes = branch.extremes
    n_assumed = branch.assumed.shape[0]
    assumed = np.empty((n_assumed + 1, 4), np.int64)
    assumed[:-1] = branch.assumed
    for c in range(3):
        assumed[n_assumed, c] = nodes[open_order[c]]
    assumed[n_assumed, 3] = order
    return Branch(
        _kept(branch.models, active, n_active),
        _kept(extremes, active, n_active) if extremes.shape[0] > 1 else extremes,
        nodes[active[:n_active]],
        branch.forest.copy(),
        assumed,
    )


@njit(cache=True, nogil=True)
def outcomes(
    models,
    extremes,
    n_intervals,
    n_simplex,
    n,
    merges,
    nodes,
    pair_codes,
    faces,
    face_codes,
    objective,
    reference,
    k,
    cap,
):
    """Partitions of all trees that the box can have.

    Returns (complete, trees, partitions, common): whether all trees were followed, their number,
    the different prunings, and the merges that hold on the whole box.
    """
    forest = new_forest(n, merges)
    shape = Shape(
        n_intervals, n_simplex, pair_codes, faces, face_codes, np.zeros((1, 1, 1), np.int64)
    )
    partitions = np.empty((cap, n), np.int64)
    n_partitions = 0
    trees = [forest][:0]
    common = np.empty((0, 2), np.int64)
    first = True
    open_order = np.empty(4, np.int64)
    branches = [Branch(models, extremes, nodes, forest, np.empty((0, 4), np.int64))]
    made = [n + merges.shape[0]]
    while len(branches) > 0:
        branch = branches.pop()
        active = np.arange(branch.nodes.size)
        status, n_active, n_nodes = _grow(branch, shape, made.pop(), active, open_order)
        if first:
            common = merges_of(branch.forest, n, n_nodes)
            first = False
        if status == FINISHED:
            trees.append(branch.forest)
        elif status == BRANCHES:
            if len(trees) + len(branches) + 2 > cap or open_order[3] > MOST_OPEN:
                return False, len(trees), partitions[:0], common
            for order in (FARTHER, NEARER):
                branches.append(_assuming(branch, open_order, order, active, n_active))
                made.append(n_nodes)
    for tree in trees:
        labels = prune(objective, reference, tree[LEFT], tree[RIGHT], n, k)
        which = number_of(labels, partitions, n_partitions)
        n_partitions = max(n_partitions, which + 1)
    return True, len(trees), partitions[:n_partitions], common
