"""Costs and best prunings of a tree that changes node by node; see `certune.kernels.pruning`."""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.pruning import (
    K_MEANS,
    K_MEDIAN,
    fill_table,
    find_pruned,
    number_by_lowest_member,
)


@borrowing
def union_cost(objective, reference, forest, costs, node):
    """Cost of a node as one cluster, from its children."""
    a = forest.left[node]
    b = forest.right[node]
    members = forest.members
    size_a = forest.size[a]
    size_b = forest.size[b]
    cross = np.int64(0)
    if objective == K_MEANS:
        for i in range(size_a):
            row = members[a, i]
            for j in range(size_b):
                cross += reference[row, members[b, j]]
        total = costs.pair_sum[a] + costs.pair_sum[b] + cross
        costs.pair_sum[node] = total
        costs.cost[node] = total // (size_a + size_b)
        return
    sums = costs.sums
    for i in range(size_a):
        sums[node, i] = sums[a, i]
    for j in range(size_b):
        sums[node, size_a + j] = sums[b, j]
    for i in range(size_a):
        row = members[a, i]
        own = sums[node, i]
        for j in range(size_b):
            distance = reference[row, members[b, j]]
            if objective == K_MEDIAN:
                own += distance
                sums[node, size_a + j] += distance
            else:
                own = max(own, distance)
                sums[node, size_a + j] = max(sums[node, size_a + j], distance)
        sums[node, i] = own
    least = sums[node, 0]
    for i in range(1, size_a + size_b):
        least = min(least, sums[node, i])
    costs.cost[node] = least


@borrowing
def refresh_tables(forest, costs, work, first):
    """Bring costs and prunings up to date after a repair from stage ``first`` on."""
    for i in range(first, forest.n_first - 1):
        node = forest.order[i]
        a = forest.left[node]
        b = forest.right[node]
        if work.born[node]:
            union_cost(costs.objective, costs.reference, forest, costs, node)
        if work.changed[node] or work.changed[a] or work.changed[b]:
            work.changed[node] = True
            fill_table(
                costs.objective,
                node,
                forest.left,
                forest.right,
                forest.size,
                costs.cost,
                costs.k,
                costs.table,
                costs.split,
            )


@borrowing
def cut(forest, costs, labels, stack):
    """Write the labels of the best pruning of the tree into k clusters."""
    k = costs.k
    root = forest.order[forest.n_first - 2]
    find_pruned(root, forest.left, forest.right, costs.split, k, stack)
    for cluster in range(k):
        node = stack[2 * k + cluster]
        for i in range(forest.size[node]):
            labels[forest.members[node, i]] = cluster
    number_by_lowest_member(k, labels, stack)
