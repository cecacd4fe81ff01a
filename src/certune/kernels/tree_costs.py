"""Costs and best prunings of a tree that changes node by node; see `certune.kernels.pruning`."""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.pruning import (
    K_CENTER,
    K_MEANS,
    fill_table,
    find_pruned,
    number_by_lowest_member,
)


@borrowing
def union_cost(objective, forest, costs, node):
    """Cost of a node as one cluster, from its children."""
    a = forest.left[node]
    b = forest.right[node]
    sums = costs.sums[node]
    sums_a = costs.sums[a]
    sums_b = costs.sums[b]
    if objective == K_CENTER:
        for point in range(sums.size):
            sums[point] = max(sums_a[point], sums_b[point])
    else:
        for point in range(sums.size):
            sums[point] = sums_a[point] + sums_b[point]
    if objective == K_MEANS:
        members = forest.members[b]
        total = costs.pair_sum[a] + costs.pair_sum[b]
        for i in range(forest.size[b]):
            total += sums_a[members[i]]
        costs.pair_sum[node] = total
        costs.cost[node] = total // forest.size[node]
        return
    members = forest.members[node]
    least = sums[members[0]]
    for i in range(1, forest.size[node]):
        least = min(least, sums[members[i]])
    costs.cost[node] = least


@borrowing
def refresh_tables(forest, costs, work, first):
    """Bring costs and prunings up to date after a repair from stage ``first`` on.

    Returns whether there is a cluster that the tree before did not have.
    """
    differs = False
    for i in range(first, forest.n_first - 1):
        node = forest.order[i]
        a = forest.left[node]
        b = forest.right[node]
        if work.born[node]:
            differs = True
            union_cost(costs.objective, forest, costs, node)
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
    return differs


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
