"""What `certune.kernels.sweep` starts from: the first clusters, their costs, and work space."""

from __future__ import annotations

import numpy as np

from certune.kernels.cost_memory import new_memory, point_hashes
from certune.kernels.linking import linked
from certune.kernels.pruning import fill_table, join, merged_cost
from certune.kernels.search_state import Costs, Settled, Trail, Tree

MOST_SETTLED = 1 << 14  # comparisons that one branch can remember


@linked
def first_clusters(labels, left, right, n_made, objective, reference, k):
    """Tree of the merges made before, costs of its nodes, and the top node of every label."""
    n = labels.size
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
    scratch = np.zeros(2 * n, np.int64)
    hashes = point_hashes(n_nodes, n)
    tops = np.empty(n - n_made, np.int64)
    for node in range(n + n_made):
        if node < n:
            head[node] = node
            tail[node] = node
        else:
            a = left[node]
            b = right[node]
            highest[node] = max(highest[a], highest[b])
            cost[node], pair_sum[node] = merged_cost(
                objective, reference, head, tail, nxt, size, a, b, point_sum, pair_sum, scratch
            )
            hashes[node] = hashes[a] + hashes[b]
            join(node, a, b, head, tail, nxt, size)
        fill_table(objective, node, left, right, size, cost, k, table, split)
        tops[labels[head[node]]] = node
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
        new_memory(n),
    )
    return tree, costs, tops


@linked
def new_settled():
    """No comparison is settled."""
    return Settled(
        np.empty((MOST_SETTLED, 4), np.int64),
        np.empty((MOST_SETTLED, 4), np.int64),
        np.zeros(1, np.int64),
    )


@linked
def new_trail(slots):
    """Nothing is to be put back."""
    return Trail(
        np.empty(8), np.empty(1, np.int64), np.zeros(1, np.int64), np.zeros(slots, np.int64)
    )
