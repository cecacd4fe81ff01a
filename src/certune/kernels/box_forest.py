"""Forests on a box of parameters: clusters merged so far, as one array with a row per attribute.

Node numbers are those of `certune.kernels.pruning`; one array is quickly copied where a search
branches.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from certune.kernels.borrowing import borrowing
from certune.kernels.linking import linked
from certune.kernels.pruning import join

LEFT, RIGHT, HEAD, TAIL, NEXT, SIZE, HIGHEST = 0, 1, 2, 3, 4, 5, 6


@linked
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


@borrowing
def add_node(forest, node, a, b):
    """Join the nodes a and b; the one with the lower highest member comes first."""
    if forest[HIGHEST, a] > forest[HIGHEST, b]:
        a, b = b, a
    forest[LEFT, node] = a
    forest[RIGHT, node] = b
    forest[HIGHEST, node] = forest[HIGHEST, b]
    join(node, a, b, forest[HEAD], forest[TAIL], forest[NEXT], forest[SIZE])


@linked
def merges_of(forest, n, n_nodes):
    """Children of the nodes behind the n points."""
    merges = np.empty((n_nodes - n, 2), np.int64)
    for i in range(n_nodes - n):
        merges[i, 0] = forest[LEFT, n + i]
        merges[i, 1] = forest[RIGHT, n + i]
    return merges


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
