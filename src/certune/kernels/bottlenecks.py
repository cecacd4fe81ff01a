"""Which edges of a graph matter: a spanning tree of strong edges, and how much weaker the rest is.

An edge whose exponent exceeds the largest exponent on a path between its ends by g carries a share
of about ``exp(-g)`` of the current.  Edges with large g may do what they like; the phase bound of
`certune.families.graph_ssl.certificate` only counts the others.  All labelled nodes act as one
node, the ground, which has the number n behind the unlabelled nodes 0, ..., n - 1.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

BINS = 64  # whole exponents up to here are told apart


@njit(cache=True, nogil=True)
def spanning_tree(between, to_labelled, is_edge, is_edge_to_labelled):
    """Minimum spanning tree grown from the ground: order of the nodes, parents, depths, via.

    ``via[i]`` is the labelled node through which i reaches the ground, -1 if its parent is
    unlabelled. Nodes that do not reach the ground have the parent -1 and are not in the order.
    """
    n, n_labelled = to_labelled.shape
    order = np.empty(n, dtype=np.int64)
    parent = np.full(n, -1)
    via = np.full(n, -1)
    depth = np.zeros(n + 1, dtype=np.int64)
    distance = np.full(n, np.inf)
    done = np.zeros(n, dtype=np.bool_)
    for i in range(n):
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j] and to_labelled[i, j] < distance[i]:
                distance[i], parent[i], via[i] = to_labelled[i, j], n, j
    count = 0
    for _ in range(n):
        nearest = -1
        for i in range(n):
            if not done[i] and parent[i] >= 0:
                if nearest < 0 or distance[i] < distance[nearest]:
                    nearest = i
        if nearest < 0:
            break
        done[nearest] = True
        order[count] = nearest
        count += 1
        depth[nearest] = depth[parent[nearest]] + 1
        for i in range(n):
            if not done[i] and is_edge[nearest, i] and between[nearest, i] < distance[i]:
                distance[i], parent[i], via[i] = between[nearest, i], nearest, -1
    return order[:count], parent, depth, via


@njit(cache=True, nogil=True)
def gates(is_edge, is_edge_to_labelled):
    """For every node that reaches the ground the first one that all ways from there pass.

    The node itself if no other separates it from the ground. Depth-first search from the ground:
    a subtree from which no edge leads above its parent hangs on the parent (Hopcroft and Tarjan).
    """
    n = len(is_edge)
    gate = np.arange(n)
    number = np.full(n + 1, -1)  # in the order of discovery
    lowest = np.zeros(n + 1, dtype=np.int64)
    parent = np.full(n + 1, -1)
    next_edge = np.zeros(n + 1, dtype=np.int64)
    grounded = np.zeros(n, dtype=np.bool_)
    for i in range(n):
        grounded[i] = is_edge_to_labelled[i].any()
    order = np.empty(n + 1, dtype=np.int64)
    stack = np.empty(n + 1, dtype=np.int64)
    stack[0] = order[0] = n
    number[n] = 0
    count, size = 1, 1
    while size > 0:
        i = stack[size - 1]
        j = next_edge[i]
        if j > n:
            size -= 1
            if parent[i] >= 0:
                lowest[parent[i]] = min(lowest[parent[i]], lowest[i])
            continue
        next_edge[i] += 1
        if i == j or j == parent[i]:
            continue
        if i == n:
            joined = grounded[j]
        elif j == n:
            joined = grounded[i]
        else:
            joined = is_edge[i, j]
        if not joined:
            continue
        if number[j] < 0:
            number[j] = lowest[j] = count
            parent[j] = i
            order[count] = j
            stack[size] = j
            count += 1
            size += 1
        else:
            lowest[i] = min(lowest[i], number[j])
    for k in range(1, count):
        i = order[k]
        p = parent[i]
        if p != n:
            if gate[p] != p:
                gate[i] = gate[p]
            elif lowest[i] >= number[p]:
                gate[i] = p
    return gate


@njit(cache=True, nogil=True)
def path_maxima(between, to_labelled, order, parent, via):
    """Largest exponent on the tree path of every two nodes, the ground included."""
    n = len(parent)
    largest = np.full((n + 1, n + 1), -np.inf)
    for position in range(len(order)):
        i = order[position]
        p = parent[i]
        edge = to_labelled[i, via[i]] if p == n else between[i, p]
        largest[i, n] = max(largest[p, n], edge)
        largest[n, i] = largest[i, n]
        for earlier in range(position):
            j = order[earlier]
            value = max(largest[p, j], edge)
            largest[i, j] = value
            largest[j, i] = value
    return largest


@njit(cache=True, nogil=True)
def lower_margins(between, to_labelled, largest, margins, margins_to_labelled):
    """Lower the margins g of all edges to those at one more setting of the exponents."""
    n, n_labelled = to_labelled.shape
    for i in range(n):
        for j in range(i + 1, n):
            margins[i, j] = min(margins[i, j], between[i, j] - largest[i, j])
        for j in range(n_labelled):
            margin = to_labelled[i, j] - largest[i, n]
            margins_to_labelled[i, j] = min(margins_to_labelled[i, j], margin)


@njit(cache=True, nogil=True)
def tail_of_margins(margins, margins_to_labelled, is_edge, is_edge_to_labelled):
    """``tail[k]``: sum of ``exp(-g)`` over the edges with margin g > k."""
    tail = np.zeros(BINS + 1)
    n, n_labelled = margins_to_labelled.shape
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j] and margins[i, j] > 0.0:
                g = min(margins[i, j], BINS + 0.5)
                tail[int(math.ceil(g)) - 1] += math.exp(-g)
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j] and margins_to_labelled[i, j] > 0.0:
                g = min(margins_to_labelled[i, j], BINS + 0.5)
                tail[int(math.ceil(g)) - 1] += math.exp(-g)
    for k in range(BINS - 1, -1, -1):
        tail[k] += tail[k + 1]
    return tail


@njit(cache=True, nogil=True)
def ranges_of_strong(
    first, second, first_to_labelled, second_to_labelled, is_edge, is_edge_to_labelled, margins,
    margins_to_labelled, cutoff, ranks, group, n_groups,
):  # fmt: skip
    """Smallest and largest values (groups, 2) of both coefficients over the strong edges.

    Strong edges have a margin of at most ``cutoff``.
    """
    low, high = np.full((n_groups, 2), np.inf), np.full((n_groups, 2), -np.inf)
    n, n_labelled = first_to_labelled.shape
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j] and margins[i, j] <= cutoff:
                k = group[ranks[i, j]]
                low[k, 0], high[k, 0] = min(low[k, 0], first[i, j]), max(high[k, 0], first[i, j])
                low[k, 1], high[k, 1] = min(low[k, 1], second[i, j]), max(high[k, 1], second[i, j])
        k = group[ranks[i, n]]
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j] and margins_to_labelled[i, j] <= cutoff:
                a, b = first_to_labelled[i, j], second_to_labelled[i, j]
                low[k, 0], high[k, 0] = min(low[k, 0], a), max(high[k, 0], a)
                low[k, 1], high[k, 1] = min(low[k, 1], b), max(high[k, 1], b)
    return low, high


@njit(cache=True, nogil=True)
def tree_exponents(between, to_labelled, order, parent, via):
    """Exponent of the tree edge from each node to its parent."""
    n = len(parent)
    result = np.empty(n)
    for i in order:
        result[i] = to_labelled[i, via[i]] if parent[i] == n else between[i, parent[i]]
    return result


@njit(cache=True, nogil=True)
def path_ranks(rank_of, order, parent):
    """Largest rank of a tree edge (known by its lower node) on the path of every two nodes."""
    n = len(parent)
    largest = np.full((n + 1, n + 1), -1)
    for position in range(len(order)):
        i = order[position]
        p = parent[i]
        largest[i, n] = largest[n, i] = max(largest[p, n], rank_of[i])
        for earlier in range(position):
            j = order[earlier]
            largest[i, j] = largest[j, i] = max(largest[p, j], rank_of[i])
    return largest


@njit(cache=True, nogil=True)
def _walk(i, j, exponent, parent, depth, lengths, rank_of, top, links):
    """Add ``exp(length - exponent)`` of the tree edges between i and j to ``links[top]``."""
    while i != j:
        if depth[i] < depth[j]:
            i, j = j, i
        if exponent - lengths[i] < 45.0 and rank_of[i] != top:
            links[top, rank_of[i]] += math.exp(lengths[i] - exponent)
        i = parent[i]


@njit(cache=True, nogil=True)
def phase_links(
    between, to_labelled, is_edge, is_edge_to_labelled, parent, depth, lengths, rank_of, ranks
):
    """How much it costs if two tree edges, known by their ranks, have different phases.

    For every edge of the graph: the longest tree edge on its path against each of the others.
    """
    n, n_labelled = to_labelled.shape
    links = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j]:
                top = ranks[i, j]
                _walk(i, j, between[i, j], parent, depth, lengths, rank_of, top, links)
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j]:
                top = ranks[i, n]
                _walk(i, n, to_labelled[i, j], parent, depth, lengths, rank_of, top, links)
    return links


@njit(cache=True, nogil=True)
def joined_groups(n, first, second):
    """Group numbers of 0, ..., n - 1 when first[k] and second[k] are to be in one group."""
    root = np.arange(n)
    for k in range(len(first)):
        i, j = first[k], second[k]
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        while root[j] != j:
            root[j] = root[root[j]]
            j = root[j]
        root[max(i, j)] = min(i, j)
    for i in range(n):
        root[i] = root[root[i]]
    return root


@njit(cache=True, nogil=True)
def path_below(order, parent, lengths, rank_of, group_of, ranks):
    """Bound of the exponents, on the path of every two nodes, of other groups than the top's.

    ``group_of`` belongs to ranks; -inf if there is one group only.
    """
    n = len(parent)
    below = np.full((n + 1, n + 1), -np.inf)
    top = np.full((n + 1, n + 1), -np.inf)
    for position in range(len(order)):
        i = order[position]
        p, x, r = parent[i], lengths[i], rank_of[i]
        g = group_of[r]
        for earlier in range(-1, position):
            j = n if earlier < 0 else order[earlier]
            value, old = below[p, j], ranks[p, j]
            if old >= 0 and group_of[old] != g:
                value = max(value, x) if old > r else max(value, top[p, j])
            below[i, j] = below[j, i] = value
            top[i, j] = top[j, i] = max(top[p, j], x)
    return below


@njit(cache=True, nogil=True)
def crossing_sum(between, to_labelled, is_edge, is_edge_to_labelled, below):
    """Sum of ``exp(below - exponent)`` over all edges."""
    n, n_labelled = to_labelled.shape
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j]:
                total += math.exp(min(below[i, j] - between[i, j], 300.0))
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j]:
                total += math.exp(min(below[i, n] - to_labelled[i, j], 300.0))
    return total


@njit(cache=True, nogil=True)
def _log_add(tops, totals, i, y):
    """Add exp(y) to the number ``totals[i] exp(tops[i])``."""
    if y > tops[i]:
        totals[i] = totals[i] * math.exp(tops[i] - y) + 1.0
        tops[i] = y
    elif y > -np.inf:
        totals[i] += math.exp(y - tops[i])


@njit(cache=True, nogil=True)
def leak_sums(
    between, to_labelled, is_edge, is_edge_to_labelled, largest, margins, margins_to_labelled,
    cutoff, below,
):  # fmt: skip
    """Logarithms of sums over edges that bound what phases change on the right-hand side.

    Of ``exp(largest / 2 - exponent)`` over weak edges, and ``exp(below / 2 - exponent)`` over all.
    """
    n, n_labelled = to_labelled.shape
    tops, totals = np.full(2, -np.inf), np.zeros(2)
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j]:
                if margins[i, j] > cutoff:
                    _log_add(tops, totals, 0, 0.5 * largest[i, j] - between[i, j])
                _log_add(tops, totals, 1, 0.5 * below[i, j] - between[i, j])
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j]:
                if margins_to_labelled[i, j] > cutoff:
                    _log_add(tops, totals, 0, 0.5 * largest[i, n] - to_labelled[i, j])
                _log_add(tops, totals, 1, 0.5 * below[i, n] - to_labelled[i, j])
    result = np.full(2, -np.inf)
    for k in range(2):
        if totals[k] > 0.0:
            result[k] = tops[k] + math.log(totals[k])
    return result


@njit(cache=True, nogil=True)
def log_conductances(between, to_labelled, is_edge, is_edge_to_labelled, resistance, ranked):
    """Logarithm of the conductance between the nodes of rank i and above, and all others.

    ``resistance`` is the largest exponent on the way of a node to the ground, near the smallest
    exponent from the node to nodes of lower rank.
    """
    n, n_labelled = to_labelled.shape
    tops, totals = np.full(n, -np.inf), np.zeros(n)
    for outer in range(n):
        u = ranked[outer]
        own = resistance[u]
        prefix = 0.0
        for j in range(n_labelled):
            if is_edge_to_labelled[u, j]:
                prefix += math.exp(min(own - to_labelled[u, j], 300.0))
        for inner in range(outer + 1):
            if prefix > 0.0:
                _log_add(tops, totals, inner, math.log(prefix) - own)
            if inner < outer and is_edge[u, ranked[inner]]:
                prefix += math.exp(min(own - between[u, ranked[inner]], 300.0))
    result = np.full(n, -np.inf)
    for i in range(n):
        if totals[i] > 0.0:
            result[i] = tops[i] + math.log(totals[i])
    return result


@njit(cache=True, nogil=True)
def chained_growth(conductances, resistance, ranked, log_factor, single):
    """Logarithm of a bound of all soft labels: nodes from the ground outwards, each by the best.

    ``conductances[c]`` (of `log_conductances`) and ``resistance[c]`` belong to corner c of a box of
    exponents; ``single`` bounds each node without a chain.  A node of rank p is bounded by what
    bounds all ranks below i, for some i <= p, times ``1 + factor sqrt(conductance resistance)``.
    """
    n = len(ranked)
    bound = np.zeros(n + 1)  # of all ranks below
    for p in range(n):
        u = ranked[p]
        best = single[u]
        for i in range(p + 1 if best > bound[p] else 0):
            added = -np.inf
            for c in range(len(conductances)):
                added = max(added, 0.5 * (conductances[c, i] + resistance[c, u]))
            added += log_factor
            grown = max(added, 0.0) + math.log1p(math.exp(-abs(added)))
            best = min(best, bound[i] + grown)
        bound[p + 1] = max(bound[p], best)
    return bound[n]
