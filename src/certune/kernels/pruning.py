"""Best pruning of a cluster tree into k clusters, in exact integer arithmetic.

A linkage algorithm builds a tree; its output is the pruning of that tree into k clusters with the
lowest cost. All prunings are compared by dynamic programming, never enumerated. Distances arrive
as fixed-point int64 numbers (see ``families/linkage/objective.py``), so every cost is an integer
that does not depend on the order of summation, and two equal trees always give equal clusters.
A sweep over parameters changes a tree merge by merge, hence one kernel call per merge:
``merged_cost``, ``join``, ``fill_table``; then ``cut`` reads off the clusters.

Tree layout: points are nodes 0..n-1, the i-th merge makes node n+i with children ``left[n+i]`` and
``right[n+i]`` (arrays of length 2n-1). The members of a node are the linked list that runs from
``head[node]`` along ``nxt`` and ends at ``tail[node]``; ``nxt`` means nothing beyond the tail.
All index arrays are int64.
"""

import numpy as np
from numba import njit

from certune.kernels.borrowing import borrowing

K_MEANS = 0
K_MEDIAN = 1
K_CENTER = 2


@borrowing
def merged_cost(objective, reference, head, tail, nxt, size, a, b, point_sum, pair_sum, scratch):
    """Cost of the union of the clusters a and b; call it before their lists are joined.

    Parameters
    ----------
    objective : int
        0 k-means, 1 k-median, 2 k-center.
    reference : int64 array (n, n)
        Fixed-point reference distances; for k-means their squares.
    head, tail, nxt, size : int64 arrays
        Member lists and sizes of the nodes.
    a, b : int
        Two disjoint nodes.
    point_sum : int64 array (n,)
        Updated in place for the members of a and b. k-median: sum of the reference distances from
        the point to the members of its cluster; k-center: the largest of them; k-means: unused.
        Zero for single points.
    pair_sum : int64 array (2n-1,)
        k-means: sum of ``reference`` over the unordered pairs of the node's members, read at a and
        b; otherwise unused. Zero for single points.
    scratch : int64 array (2n,)
        Work space.

    Returns
    -------
    cost : int
        k-median: the least sum, and k-center: the least maximum, of distances to one member;
        k-means: the pair sum divided by the number of members, rounded down.
    union_pair_sum : int
        The pair sum of the union for k-means, otherwise 0.

    Notes
    -----
    O(size[a] size[b]) time, no allocation. ``point_sum`` of a k-median merge can be undone by
    subtraction; that of a k-center merge has to be saved by a caller who wants to undo it.
    """
    if size[a] < size[b]:
        a, b = b, a
    # Rows of the smaller cluster, long inner loops over the larger one.
    others = scratch[: _write_members(head, tail, nxt, a, scratch)]
    if objective == K_MEANS:
        total = pair_sum[a] + pair_sum[b] + _cross_sum(reference, head, tail, nxt, b, others)
        return total // (size[a] + size[b]), total
    gathered = scratch[others.size : 2 * others.size]
    if objective == K_MEDIAN:
        _add_cross_sums(reference, head, tail, nxt, b, others, gathered, point_sum)
    else:
        _raise_cross_maxima(reference, head, tail, nxt, b, others, gathered, point_sum)
    cost_a = point_sum[others[0]]
    for i in range(1, others.size):
        cost_a = min(cost_a, point_sum[others[i]])
    cost_b = _least(head, tail, nxt, b, point_sum)
    return min(cost_a, cost_b), np.int64(0)


@borrowing
def _write_members(head, tail, nxt, node, scratch):
    """Copy the members of a node to the front of ``scratch`` and return their number."""
    p = head[node]
    scratch[0] = p
    n = 1
    while p != tail[node]:
        p = nxt[p]
        scratch[n] = p
        n += 1
    return n


@borrowing
def _cross_sum(reference, head, tail, nxt, a, others):
    """Sum of the reference over all pairs with one member in a and one in ``others``."""
    total = np.int64(0)
    p = head[a]
    while True:
        row = reference[p]
        for i in range(others.size):
            total += row[others[i]]
        if p == tail[a]:
            return total
        p = nxt[p]


@borrowing
def _add_cross_sums(reference, head, tail, nxt, node, others, gathered, point_sum):
    """Add to every member of the node its distances to ``others``, and the other way round."""
    gathered[:] = 0
    p = head[node]
    while True:
        row = reference[p]
        own = np.int64(0)
        for i in range(others.size):
            distance = row[others[i]]
            own += distance
            gathered[i] += distance
        point_sum[p] += own
        if p == tail[node]:
            break
        p = nxt[p]
    for i in range(others.size):
        point_sum[others[i]] += gathered[i]


@borrowing
def _raise_cross_maxima(reference, head, tail, nxt, node, others, gathered, point_sum):
    """Raise the eccentricity of every member of the node by distances to ``others``, and back."""
    gathered[:] = 0
    p = head[node]
    while True:
        row = reference[p]
        own = point_sum[p]
        for i in range(others.size):
            distance = row[others[i]]
            own = max(own, distance)
            gathered[i] = max(gathered[i], distance)
        point_sum[p] = own
        if p == tail[node]:
            break
        p = nxt[p]
    for i in range(others.size):
        point_sum[others[i]] = max(point_sum[others[i]], gathered[i])


@borrowing
def _least(head, tail, nxt, node, point_sum):
    """Smallest entry of ``point_sum`` over the members of a node."""
    p = head[node]
    least = point_sum[p]
    while p != tail[node]:
        p = nxt[p]
        least = min(least, point_sum[p])
    return least


@borrowing
def join(node, a, b, head, tail, nxt, size):
    """Make the member list and size of ``node`` from its children: members of a, then of b. O(1).

    The lists of a and b stay valid, because each is read only up to its own tail.
    """
    head[node] = head[a]
    nxt[tail[a]] = head[b]
    tail[node] = tail[b]
    size[node] = size[a] + size[b]


@borrowing
def fill_table(objective, node, left, right, size, cost, k, table, split):
    """Lowest cost of cutting the subtree of one node into j clusters, for j = 1..min(k, size).

    Parameters
    ----------
    objective : int
        0 k-means, 1 k-median (both add the costs of the clusters), 2 k-center (largest cost).
    node : int
        The node; the rows of its children must have been filled. Leaves are nodes too.
    left, right, size : int64 arrays (2n-1,)
        Children and sizes.
    cost : int64 array (2n-1,)
        Cost of every node as one cluster, zero for leaves.
    k : int
        Largest number of clusters of interest.
    table : int64 array (2n-1, k+1)
        ``table[node, j]`` is written; entries with j = 0 or j > min(k, size) are never touched.
    split : int64 array (2n-1, k+1)
        ``split[node, j]``, j >= 2, becomes the number of clusters given to the left child, the
        smallest one among ties.

    Notes
    -----
    O(min(k, size of left) min(k, size of right)) time, no allocation.
    """
    table[node, 1] = cost[node]
    if size[node] == 1:
        return
    a, b = left[node], right[node]
    for j in range(2, min(k, size[node]) + 1):
        first = max(1, j - size[b])
        best = _combined(objective, table[a, first], table[b, j - first])
        best_split = first
        for i in range(first + 1, min(j - 1, size[a]) + 1):
            value = _combined(objective, table[a, i], table[b, j - i])
            if value < best:
                best = value
                best_split = i
        table[node, j] = best
        split[node, j] = best_split


@borrowing
def _combined(objective, first, second):
    """Cost of two disjoint prunings taken together."""
    if objective == K_CENTER:
        return max(first, second)
    return first + second


@borrowing
def cut(root, left, right, split, head, tail, nxt, k, labels, stack):
    """Write the labels of the best pruning of a finished tree into k clusters.

    Parameters
    ----------
    root : int
        The node that holds all points; it has at least k members.
    left, right, split, head, tail, nxt : int64 arrays
        The tree and the splits left by ``fill_table``.
    k : int
        Number of clusters.
    labels : int64 array (n,)
        Overwritten. Clusters are numbered in the order of their lowest member index, so equal
        partitions have equal labels.
    stack : int64 array, at least 3k long
        Work space.

    Notes
    -----
    O(n + k) time, no allocation.
    """
    find_pruned(root, left, right, split, k, stack)
    for cluster in range(k):
        label_members(stack[2 * k + cluster], head, tail, nxt, cluster, labels)
    number_by_lowest_member(k, labels, stack)


@borrowing
def find_pruned(root, left, right, split, k, stack):
    """Write the k nodes of the best pruning to ``stack[2 k : 3 k]``.

    Every pending subtree owes at least one cluster, so at most k (node, count) pairs are on the
    stack at a time.
    """
    stack[0] = root
    stack[1] = k
    depth = 1
    cluster = 0
    while depth > 0:
        depth -= 1
        node = stack[2 * depth]
        count = stack[2 * depth + 1]
        if count == 1:
            stack[2 * k + cluster] = node
            cluster += 1
        else:
            to_left = split[node, count]
            stack[2 * depth] = left[node]
            stack[2 * depth + 1] = to_left
            stack[2 * depth + 2] = right[node]
            stack[2 * depth + 3] = count - to_left
            depth += 2


@borrowing
def label_members(node, head, tail, nxt, cluster, labels):
    """Write the label of a cluster at the members of a node."""
    p = head[node]
    labels[p] = cluster
    while p != tail[node]:
        p = nxt[p]
        labels[p] = cluster


@borrowing
def number_by_lowest_member(k, labels, number_of):
    """Renumber the clusters 0..k-1 in order of first appearance; ``number_of`` is work space."""
    number_of[:k] = -1
    n_seen = 0
    for p in range(labels.shape[0]):
        cluster = labels[p]
        if number_of[cluster] < 0:
            number_of[cluster] = n_seen
            n_seen += 1
        labels[p] = number_of[cluster]


@njit(cache=True, nogil=True)
def prune(objective, reference, left, right, n, k):
    """Labels of the best pruning into k clusters of a finished tree.

    Parameters
    ----------
    objective : int
        0 k-means, 1 k-median, 2 k-center.
    reference : int64 array (n, n)
        Fixed-point reference distances; for k-means their squares.
    left, right : int64 arrays (2n-1,)
        Children of the nodes n..2n-2, children before parents; earlier entries are not read.
    n, k : int
        Numbers of points and of clusters, 1 <= k <= n.

    Returns
    -------
    labels : int64 array (n,)
        Clusters numbered in the order of their lowest member index.

    Notes
    -----
    O(n^2) time, of which the dynamic programme takes O(nk).
    """
    n_nodes = 2 * n - 1
    head = np.arange(n_nodes)
    tail = np.arange(n_nodes)
    nxt = np.empty(n, np.int64)
    size = np.ones(n_nodes, np.int64)
    cost = np.zeros(n_nodes, np.int64)
    point_sum = np.zeros(n, np.int64)
    pair_sum = np.zeros(n_nodes, np.int64)
    table = np.empty((n_nodes, k + 1), np.int64)
    split = np.empty((n_nodes, k + 1), np.int64)
    scratch = np.empty(2 * n, np.int64)
    for node in range(n_nodes):
        if node >= n:
            a, b = left[node], right[node]
            cost[node], pair_sum[node] = merged_cost(
                objective, reference, head, tail, nxt, size, a, b, point_sum, pair_sum, scratch
            )
            join(node, a, b, head, tail, nxt, size)
        fill_table(objective, node, left, right, size, cost, k, table, split)
    labels = np.empty(n, np.int64)
    stack = np.empty(3 * k, np.int64)
    cut(n_nodes - 1, left, right, split, head, tail, nxt, k, labels, stack)
    return labels
