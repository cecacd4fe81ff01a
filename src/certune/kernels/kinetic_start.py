"""What `certune.kernels.kinetic` starts from: the first clusters, their costs, and work space."""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import bundled
from certune.kernels.certificates import Desk
from certune.kernels.chords import BLOCK
from certune.kernels.cost_memory import point_hashes
from certune.kernels.ends import UNKNOWN_CODE
from certune.kernels.kinetic_state import Costs, Forest, Merging, Proofs, Records, Work
from certune.kernels.linking import linked
from certune.kernels.pruning import fill_table
from certune.kernels.series import DEGREE
from certune.kernels.tree_costs import union_cost
from certune.kernels.tree_records import PARTNERS

SPARE = 32  # nodes that a repair may make beyond those of a tree


def room_for_records(count: int) -> tuple[int, int]:
    """Shape of the room that `new_records` needs for a tree of ``count`` first clusters."""
    width = -(-(2 * count - 1 + SPARE) // BLOCK) * BLOCK
    return width, 5 * width


@linked
def new_records(room, average, ordered):
    """Records of all pairs of nodes of a tree, and their chords, in an array that holds both."""
    width = room.shape[0]
    numbers = room.reshape(room.size)
    flat = numbers[: 4 * width * width]
    chords = numbers[4 * width * width :].view(np.float32)
    if average:
        chords[:] = 1.0
    return Records(
        flat,
        flat.view(np.int64),
        np.zeros(width * (width - 1) // 2, np.uint8),
        width,
        ordered,
        np.empty((width if average else 1, PARTNERS), np.int32),
        np.zeros(width, np.int64),
        chords,
        np.arange(width),
        np.arange(width),
        np.empty(8),
        chords.view(np.int64),
    )


@linked
def first_clusters(labels, left, right, n_made, width, objective, reference, k):
    """The forest of the merges made before, and the costs of its nodes.

    The first clusters are nodes of their own; points and the nodes of those merges follow behind
    the ``width`` nodes of the tree.
    """
    n = labels.size
    count = n - n_made
    n_ids = width + n + n_made
    forest_ = Forest(
        count,
        np.zeros(n_ids, np.int64),
        np.zeros(n_ids, np.int64),
        np.ones(n_ids, np.int64),
        np.zeros(n_ids, np.int64),
        np.zeros(n_ids, np.int64),
        np.empty((n_ids, n), np.int32),
        np.full(count - 1, -1, np.int64),
        np.full(width, -1, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.empty(width - count + 1, np.int64),
        labels,
    )
    costs_ = Costs(
        objective,
        k,
        np.zeros(n_ids, np.int64),
        np.zeros(n_ids, np.int64),
        np.empty((n_ids, n), np.int64),
        np.zeros((n_ids, k + 1), np.int64),
        np.zeros((n_ids, k + 1), np.int64),
    )
    forest = bundled(forest_)
    costs = bundled(costs_)
    hashes = point_hashes(n, n)
    top = np.empty(count, np.int64)
    for node in range(width, n_ids):
        if node < width + n:
            forest.members[node, 0] = node - width
            for point in range(n):
                costs.sums[node, point] = reference[node - width, point]
            forest.hashes[node] = hashes[node - width]
            forest.highest[node] = node - width
        else:
            a = width + left[node - width]
            b = width + right[node - width]
            forest.left[node] = a
            forest.right[node] = b
            forest.size[node] = forest.size[a] + forest.size[b]
            forest.highest[node] = max(forest.highest[a], forest.highest[b])
            forest.hashes[node] = forest.hashes[a] + forest.hashes[b]
            at = 0
            for part in (a, b):
                for i in range(forest.size[part]):
                    forest.members[node, at] = forest.members[part, i]
                    at += 1
            union_cost(objective, forest, costs, node)
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
        top[labels[forest.members[node, 0]]] = node
    for x in range(count):
        node = top[x]
        forest.left[x] = forest.left[node]
        forest.right[x] = forest.right[node]
        forest.size[x] = forest.size[node]
        forest.highest[x] = forest.highest[node]
        forest.hashes[x] = forest.hashes[node]
        for i in range(forest.size[node]):
            forest.members[x, i] = forest.members[node, i]
        costs.cost[x] = costs.cost[node]
        costs.pair_sum[x] = costs.pair_sum[node]
        for point in range(n):
            costs.sums[x, point] = costs.sums[node, point]
        for parts in range(k + 1):
            costs.table[x, parts] = costs.table[node, parts]
            costs.split[x, parts] = costs.split[node, parts]
    return forest_, costs_


@linked
def new_proofs(width):
    """Proofs that never end."""
    return Proofs(
        np.full(width, np.inf),
        np.full(width, np.inf),
        np.full(width, np.inf),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
    )


@linked
def new_work(count, width, n):
    """Work space of repairs."""
    return Work(
        np.empty(width, np.int64),
        np.empty(width, np.int64),
        np.zeros(1, np.int64),
        np.empty(width, np.int64),
        np.zeros(1, np.int64),
        np.zeros(width, np.bool_),
        np.empty(width, np.int64),
        np.zeros(1, np.int64),
        np.zeros(width, np.bool_),
        np.empty(width, np.int64),
        np.zeros(2),
        np.zeros(width + 1, np.int64),
        np.empty(width, np.float32),
        np.empty(width // BLOCK, np.int64),
        np.zeros(width, np.bool_),
        np.empty(count - 1, np.int64),
        np.empty(count - 1, np.int64),
        np.empty(4 * width + 4, np.int64),
        np.empty(DEGREE),
        np.empty(2 * width),
        np.empty(2 * width, np.int64),
        np.empty(3),
        np.zeros(3, np.int64),
        np.full(4, -1, np.int64),
        np.full(4, UNKNOWN_CODE),
        np.zeros(1, np.int64),
        np.zeros(width, np.bool_),
        np.zeros(width, np.bool_),
        np.zeros(width, np.bool_),
        np.zeros(2),
        np.empty((2 * width, 2), np.int64),
        np.empty((2 * width, 2)),
        np.empty((2 * width, 4), np.int64),
        np.zeros(n, np.int64),
        np.empty(width),
        np.empty(n, np.uint8),
        np.empty(2, np.int64),
    )


@linked
def new_merging(pair_codes):
    """Lists to compare the members of three clusters."""
    return Merging(
        pair_codes,
        np.arange(3),
        np.empty(3, np.int64),
        np.empty(3, np.int64),
        np.empty(3, np.int64),
        np.zeros(pair_codes.shape[0], np.int64),
    )


@linked
def new_desk(coefficients):
    """Work space of a comparison whose evidence has so many numbers."""
    pair = np.ones((1, 3, 8))
    return Desk(
        pair,
        pair.view(np.int64),
        pair.reshape(pair.size),
        np.ones(2),
        np.empty(coefficients),
        np.empty(coefficients),
        np.zeros(4),
        np.empty((10, DEGREE + 1)),
        np.empty(DEGREE * DEGREE),
        np.full(1, np.inf),
        np.empty(2 * DEGREE),
    )
