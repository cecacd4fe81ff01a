"""Every cluster tree that a box of parameters can have, up to a given number.

Merges that are certain on the whole box are carried out once.  Where the order of two cluster
pairs is open, both outcomes are followed: at any parameter of the box one of them is true, so its
tree is among those found.  Outcomes that contradict each other end without a tree.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.box_orders import (
    UNCERTAIN,
    may_vanish,
    merge_extremes,
    order_off_face,
)
from certune.kernels.compare import tie_prefers
from certune.kernels.identities import identical
from certune.kernels.pruning import join, prune
from certune.kernels.series import MEAN

FINISHED, BRANCHES, EMPTY = 0, 1, 2
NEARER, OPEN, FARTHER = 1, 0, -1
LEFT, RIGHT, HEAD, TAIL, NEXT, SIZE, HIGHEST = 0, 1, 2, 3, 4, 5, 6
NONE, CIRCLE = (
    -1,
    -2,
)  # in place of a rival: there is none; the assumed orders contradict each other
MOST_OPEN = 6  # slots whose nearest is open: more of them have too many trees to try
CLOSE = 1e-9  # values that differ by more than this share are not the same function


@njit(cache=True, nogil=True)
def new_forest(n, merges):
    """Member lists, sizes and highest members of the nodes, and the merges so far."""
    forest = np.zeros((7, 2 * n - 1), np.int64)
    for p in range(n):
        forest[HEAD, p] = p
        forest[TAIL, p] = p
        forest[SIZE, p] = 1
        forest[HIGHEST, p] = p
    for i in range(merges.shape[0]):
        add_node(forest, n + i, merges[i, 0], merges[i, 1])
    return forest


@njit(cache=True, nogil=True)
def add_node(forest, node, a, b):
    """Join the nodes a and b; the one with the lower highest member comes first."""
    if forest[HIGHEST, a] > forest[HIGHEST, b]:
        a, b = b, a
    forest[LEFT, node] = a
    forest[RIGHT, node] = b
    forest[HIGHEST, node] = forest[HIGHEST, b]
    join(node, a, b, forest[HEAD], forest[TAIL], forest[NEXT], forest[SIZE])


@njit(cache=True, nogil=True)
def roots_of(n, merges):
    """Slot of every point, and the top node of every slot, slots in order of their top nodes."""
    made = merges.shape[0]
    top = np.arange(n + made)
    for i in range(made):
        top[merges[i, 0]] = n + i
        top[merges[i, 1]] = n + i
    nodes = np.empty(n - made, np.int64)
    slot = np.empty(n + made, np.int64)
    count = 0
    for node in range(n + made):
        if top[node] == node:
            nodes[count] = node
            slot[node] = count
            count += 1
    labels = np.empty(n, np.int64)
    for node in range(n + made - 1, -1, -1):
        if top[node] != node:
            slot[node] = slot[top[node]]
        if node < n:
            labels[node] = slot[node]
    return labels, nodes


@njit(cache=True, nogil=True)
def lead(models, n_intervals, n_simplex, x, y, z):
    """`box_models.surplus` of (x, z) over (x, y): positive if (x, y) is nearer on the whole box."""
    rho = n_intervals + n_simplex + 1
    low = models[x, z, 0] - models[x, y, 0] - (models[x, z, rho] + models[x, y, rho])
    for c in range(1, 1 + n_intervals):
        low -= abs(models[x, z, c] - models[x, y, c])
    if n_simplex > 0:
        least = np.inf
        for c in range(1 + n_intervals, rho):
            least = min(least, models[x, z, c] - models[x, y, c])
        low += least
    return low


@njit(cache=True, nogil=True)
def same_value(extremes, nodes, forest, codes, dummy, x, y, z):
    """Are the values of (x, y) and (x, z) the same function, by these codes of pairs of points?"""
    if extremes.shape[0] == 1:
        return identical(
            dummy,
            0,
            MEAN,
            1.0,
            nodes,
            x,
            y,
            z,
            forest[SIZE],
            forest[HEAD],
            forest[TAIL],
            forest[NEXT],
            codes,
        )
    n = codes.shape[0]
    for c in range(2):
        first, second = extremes[x, y, c], extremes[x, z, c]
        if first == UNCERTAIN or second == UNCERTAIN:
            return False
        if codes[first // n, first % n] != codes[second // n, second % n]:
            return False
    return True


@njit(cache=True, nogil=True)
def settle(
    models,
    extremes,
    n_intervals,
    n_simplex,
    nodes,
    forest,
    forced,
    pair_codes,
    faces,
    face_codes,
    dummy,
    x,
    y,
    z,
):
    """Order of (x, y) against (x, z) when (x, y) is not proved nearer: NEARER, FARTHER or OPEN."""
    if lead(models, n_intervals, n_simplex, x, z, y) > 0.0:
        return FARTHER
    for i in range(forced.shape[0]):
        if forced[i, 0] == nodes[x]:
            if forced[i, 1] == nodes[y] and forced[i, 2] == nodes[z]:
                return forced[i, 3]
            if forced[i, 1] == nodes[z] and forced[i, 2] == nodes[y]:
                return -forced[i, 3]
    near, far = models[x, y], models[x, z]
    if abs(near[0] - far[0]) <= CLOSE * (1.0 + abs(near[0])) and same_value(
        extremes, nodes, forest, pair_codes, dummy, x, y, z
    ):
        highest = forest[HIGHEST]
        wins = tie_prefers(highest[nodes[x]], highest[nodes[y]], highest[nodes[z]])
        return NEARER if wins else FARTHER
    for f in range(faces.shape[0]):
        if may_vanish(far, near, n_intervals, n_simplex, faces[f]):
            order = order_off_face(far, near, n_intervals, n_simplex, faces[f])
            if order != 0 and same_value(extremes, nodes, forest, face_codes[f], dummy, x, y, z):
                return order
    return OPEN


@njit(cache=True, nogil=True)
def guess(models, x, active, n_active):
    """Nearest slot of x at the centre of the box."""
    best = -1
    least = np.inf
    for i in range(n_active):
        z = active[i]
        if z != x and (best < 0 or models[x, z, 0] < least):
            least = models[x, z, 0]
            best = z
    return best


@njit(cache=True, nogil=True)
def make_sure(
    models,
    extremes,
    n_intervals,
    n_simplex,
    nodes,
    forest,
    forced,
    pair_codes,
    faces,
    face_codes,
    dummy,
    active,
    n_active,
    nearest,
    x,
):
    """Prove which slot is nearest to x; returns the rival that is in the way, NONE or CIRCLE."""
    switches = 0
    i = 0
    while i < n_active:
        z = active[i]
        i += 1
        y = nearest[x]
        if z == x or z == y:
            continue
        if lead(models, n_intervals, n_simplex, x, y, z) > 0.0:
            continue
        order = settle(
            models,
            extremes,
            n_intervals,
            n_simplex,
            nodes,
            forest,
            forced,
            pair_codes,
            faces,
            face_codes,
            dummy,
            x,
            y,
            z,
        )
        if order == OPEN:
            return z
        if order == FARTHER:
            nearest[x] = z
            switches += 1
            if switches > n_active:
                return CIRCLE
            i = 0
    return NONE


@njit(cache=True, nogil=True)
def grow(
    models,
    extremes,
    n_intervals,
    n_simplex,
    nodes,
    forest,
    n_nodes,
    forced,
    pair_codes,
    faces,
    face_codes,
    dummy,
    active,
    n_active,
    open_order,
):
    """Carry out all certain merges.

    Returns (status, active slots, nodes).  On BRANCHES, ``open_order`` are the three slots of an
    open order with the smallest value, and the number of slots whose nearest is open.
    """
    slots = models.shape[0]
    width = n_intervals + n_simplex + 3
    nearest = np.full(slots, -1, np.int64)
    resolved = np.zeros(slots, np.bool_)
    rival = np.full(slots, -1, np.int64)
    rival_nodes = np.zeros((slots, 2), np.int64)
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
                z = make_sure(
                    models,
                    extremes,
                    n_intervals,
                    n_simplex,
                    nodes,
                    forest,
                    forced,
                    pair_codes,
                    faces,
                    face_codes,
                    dummy,
                    active,
                    n_active,
                    nearest,
                    row,
                )
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
            kept = 0
            nearest[x] = -1
            resolved[x] = False
            for j in range(n_active):
                z = active[j]
                if z == y:
                    continue
                active[kept] = z
                kept += 1
                if nearest[z] == x or nearest[z] == y:
                    nearest[z] = -1
                    resolved[z] = False
                if z == x:
                    continue
                if extremes.shape[0] > 1:
                    merge_extremes(
                        models,
                        extremes,
                        x,
                        y,
                        z,
                        n_intervals,
                        n_simplex,
                        pair_codes,
                        faces,
                        face_codes,
                    )
                else:
                    for c in range(width):
                        value = share_x * models[x, z, c] + share_y * models[y, z, c]
                        models[x, z, c] = value
                        models[z, x, c] = value
            n_active = kept
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
    partitions = np.empty((cap, n), np.int64)
    n_partitions = 0
    trees = [forest][:0]
    dummy = np.zeros((1, 1, 1), np.int64)
    common = np.empty((0, 2), np.int64)
    first = True
    open_order = np.empty(4, np.int64)
    stack_models = [models]
    stack_extremes = [extremes]
    stack_nodes = [nodes]
    stack_forest = [forest]
    stack_forced = [np.empty((0, 4), np.int64)]
    stack_made = [n + merges.shape[0]]
    while len(stack_made) > 0:
        models = stack_models.pop()
        extremes = stack_extremes.pop()
        nodes = stack_nodes.pop()
        forest = stack_forest.pop()
        forced = stack_forced.pop()
        n_nodes = stack_made.pop()
        active = np.arange(models.shape[0])
        status, n_active, n_nodes = grow(
            models,
            extremes,
            n_intervals,
            n_simplex,
            nodes,
            forest,
            n_nodes,
            forced,
            pair_codes,
            faces,
            face_codes,
            dummy,
            active,
            active.size,
            open_order,
        )
        if first:
            common = np.empty((n_nodes - n, 2), np.int64)
            for i in range(n_nodes - n):
                common[i, 0] = forest[LEFT, n + i]
                common[i, 1] = forest[RIGHT, n + i]
            first = False
        if status == FINISHED:
            trees.append(forest)
        elif status == BRANCHES:
            if len(trees) + len(stack_made) + 2 > cap or open_order[3] > MOST_OPEN:
                return False, len(trees), partitions[:0], common
            for order in (FARTHER, NEARER):
                longer = np.empty((forced.shape[0] + 1, 4), np.int64)
                longer[:-1] = forced
                for c in range(3):
                    longer[-1, c] = nodes[open_order[c]]
                longer[-1, 3] = order
                stack_models.append(_kept(models, active, n_active))
                stack_extremes.append(
                    _kept(extremes, active, n_active) if extremes.shape[0] > 1 else extremes
                )
                stack_nodes.append(nodes[active[:n_active]])
                stack_forest.append(forest.copy())
                stack_forced.append(longer)
                stack_made.append(n_nodes)
    for tree in trees:
        labels = prune(objective, reference, tree[LEFT], tree[RIGHT], n, k)
        i = 0
        while i < n_partitions and np.any(partitions[i] != labels):
            i += 1
        if i == n_partitions:
            partitions[i] = labels
            n_partitions += 1
    return True, len(trees), partitions[:n_partitions], common


@njit(cache=True, nogil=True)
def _kept(table, active, n_active):
    """Copy the rows and columns of the active slots."""
    result = np.empty((n_active, n_active, table.shape[2]), table.dtype)
    for i in range(n_active):
        for j in range(n_active):
            result[i, j] = table[active[i], active[j]]
    return result
