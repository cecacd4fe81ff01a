"""Which cluster is nearest to another on a whole box of parameters, as far as that is certain.

Two cluster pairs are ordered by their records, by what is assumed on a branch, by the tie rule if
they have the same value everywhere, or by their slopes if they agree on a face that is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.kernels.borrowing import borrowing
from certune.kernels.box_forest import HEAD, HIGHEST, NEXT, SIZE, TAIL
from certune.kernels.box_orders import UNCERTAIN, may_vanish, order_off_face, surplus
from certune.kernels.compare import tie_prefers
from certune.kernels.identities import identical
from certune.kernels.search_state import Floats, Integers
from certune.kernels.series import MEAN

NEARER, OPEN, FARTHER = 1, 0, -1
# In place of a rival: there is none; the assumed orders contradict each other.
NONE, CIRCLE = -1, -2
CLOSE = 1e-9  # values that differ by more than this share are not the same function


class Shape(NamedTuple):
    """What all branches have in common: the parts of the box and identities on it."""

    n_intervals: int
    n_simplex: int
    codes: NDArray[np.uint64]  # of the pairs of points: equal codes, equal values
    faces: Integers  # faces that are left out; see `box_orders.may_vanish`
    face_codes: NDArray[np.uint64]  # equal codes, equal values on the face
    no_bits: Integers  # records of min-max linkage are not used to compare codes


class Branch(NamedTuple):
    """What holds under the orders that were assumed so far."""

    models: Floats  # (slots, slots, lanes): records of cluster pairs
    extremes: Integers  # (slots, slots, 2): for min-max linkage, pairs of points that attain them
    nodes: Integers  # node of every slot
    forest: Integers
    assumed: Integers  # (orders, 4): nodes x, y, z, and NEARER if (x, y) is nearer than (x, z)


@borrowing
def lead(models, shape, x, y, z):
    """Lower bound by which (x, z) exceeds (x, y): positive proves (x, y) nearer on the box."""
    return surplus(models[x, z], models[x, y], shape.n_intervals, shape.n_simplex)


@borrowing
def _same_value(branch, codes, no_bits, x, y, z):
    """Are the values of (x, y) and (x, z) the same function, by these codes of pairs of points?"""
    extremes = branch.extremes
    if extremes.shape[0] == 1:
        forest = branch.forest
        return identical(
            no_bits,
            0,
            MEAN,
            1.0,
            branch.nodes,
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


@borrowing
def _settle(branch, shape, x, y, z):
    """Order of (x, y) against (x, z) when (x, y) is not proved nearer: NEARER, FARTHER or OPEN."""
    models = branch.models
    nodes = branch.nodes
    assumed = branch.assumed
    if lead(models, shape, x, z, y) > 0.0:
        return FARTHER
    for i in range(assumed.shape[0]):
        if assumed[i, 0] == nodes[x]:
            if assumed[i, 1] == nodes[y] and assumed[i, 2] == nodes[z]:
                return assumed[i, 3]
            if assumed[i, 1] == nodes[z] and assumed[i, 2] == nodes[y]:
                return -assumed[i, 3]
    near, far = models[x, y], models[x, z]
    if abs(near[0] - far[0]) <= CLOSE * (1.0 + abs(near[0])) and _same_value(
        branch, shape.codes, shape.no_bits, x, y, z
    ):
        highest = branch.forest[HIGHEST]
        wins = tie_prefers(highest[nodes[x]], highest[nodes[y]], highest[nodes[z]])
        return NEARER if wins else FARTHER
    n_intervals, n_simplex = shape.n_intervals, shape.n_simplex
    for f in range(shape.faces.shape[0]):
        face = shape.faces[f]
        if may_vanish(far, near, n_intervals, n_simplex, face):
            order = order_off_face(far, near, n_intervals, n_simplex, face)
            if order != 0 and _same_value(branch, shape.face_codes[f], shape.no_bits, x, y, z):
                return order
    return OPEN


@borrowing
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


@borrowing
def make_sure(branch, shape, active, n_active, nearest, x):
    """Prove which slot is nearest to x; returns the rival that is in the way, NONE or CIRCLE."""
    models = branch.models
    switches = 0
    i = 0
    while i < n_active:
        z = active[i]
        i += 1
        y = nearest[x]
        if z == x or z == y:
            continue
        if lead(models, shape, x, y, z) > 0.0:
            continue
        order = _settle(branch, shape, x, y, z)
        if order == OPEN:
            return z
        if order == FARTHER:
            nearest[x] = z
            switches += 1
            if switches > n_active:
                return CIRCLE
            i = 0
    return NONE
