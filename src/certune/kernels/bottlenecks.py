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
    margins_to_labelled, cutoff, shell_of, n_shells,
):  # fmt: skip
    """Smallest and largest value (2, shells, 2) of both coefficients over strong edges.

    Strong edges have a margin of at most ``cutoff``; an edge belongs to the outer of the shells
    of its ends.
    """
    low, high = np.full((n_shells, 2), np.inf), np.full((n_shells, 2), -np.inf)
    n, n_labelled = first_to_labelled.shape
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j] and margins[i, j] <= cutoff:
                k = max(shell_of[i], shell_of[j])
                low[k, 0], high[k, 0] = min(low[k, 0], first[i, j]), max(high[k, 0], first[i, j])
                low[k, 1], high[k, 1] = min(low[k, 1], second[i, j]), max(high[k, 1], second[i, j])
        k = shell_of[i]
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j] and margins_to_labelled[i, j] <= cutoff:
                a, b = first_to_labelled[i, j], second_to_labelled[i, j]
                low[k, 0], high[k, 0] = min(low[k, 0], a), max(high[k, 0], a)
                low[k, 1], high[k, 1] = min(low[k, 1], b), max(high[k, 1], b)
    return low, high


@njit(cache=True, nogil=True)
def crossing_sums(between, is_edge, resistance, ranked):
    """``sums[i]``: of ``exp(resistance[j] - exponent)`` over edges from rank >= i to j below it.

    ``resistance`` is the largest exponent on the way of a node to the ground, and ``ranked`` the
    nodes in the order of what it is at the centre.
    """
    n = len(ranked)
    sums = np.zeros(n + 1)
    for outer in range(n):
        u = ranked[outer]
        prefix = 0.0
        for inner in range(outer):
            j = ranked[inner]
            if is_edge[u, j]:
                prefix += math.exp(min(resistance[j] - between[u, j], 300.0))
            sums[inner + 1] += prefix
    return sums


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
    cutoff, rank_of, shell_of,
):  # fmt: skip
    """The second and third of `shell_sums` for all nodes together."""
    n, n_labelled = to_labelled.shape
    tops, totals = np.full(2, -np.inf), np.zeros(2)
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j]:
                if margins[i, j] > cutoff:
                    _log_add(tops, totals, 0, 0.5 * largest[i, j] - between[i, j])
                if shell_of[i] != shell_of[j]:
                    inner = i if rank_of[i] < rank_of[j] else j
                    _log_add(tops, totals, 1, 0.5 * largest[inner, n] - between[i, j])
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j] and margins_to_labelled[i, j] > cutoff:
                _log_add(tops, totals, 0, 0.5 * largest[i, n] - to_labelled[i, j])
    result = np.full(2, -np.inf)
    for k in range(2):
        if totals[k] > 0.0:
            result[k] = tops[k] + math.log(totals[k])
    return result


@njit(cache=True, nogil=True)
def shell_sums(
    between, to_labelled, is_edge, is_edge_to_labelled, largest, margins, margins_to_labelled,
    cutoff, ranked, shell_of,
):  # fmt: skip
    """Logarithms of three sums for the set C_i of all nodes of rank i and above.

    The conductance between C_i and the rest; the sum of ``exp(largest / 2 - exponent)`` over weak
    edges that touch C_i; the sum of ``exp(resistance / 2 - exponent)`` over edges within C_i
    that join two shells, where the resistance is that of the inner end.
    """
    n, n_labelled = to_labelled.shape
    tops = np.full((3, n), -np.inf)
    totals = np.zeros((3, n))
    for outer in range(n):
        u = ranked[outer]
        own = largest[u, n]
        prefix = 0.0
        for j in range(n_labelled):
            if is_edge_to_labelled[u, j]:
                e = to_labelled[u, j]
                prefix += math.exp(min(own - e, 300.0))
                if margins_to_labelled[u, j] > cutoff:
                    _log_add(tops[1], totals[1], outer, 0.5 * own - e)
        for inner in range(outer + 1):
            if prefix > 0.0:
                _log_add(tops[0], totals[0], inner, math.log(prefix) - own)
            v = ranked[inner]
            if inner < outer and is_edge[u, v]:
                e = between[u, v]
                prefix += math.exp(min(own - e, 300.0))
                margin = margins[min(u, v), max(u, v)]
                if margin > cutoff:
                    _log_add(tops[1], totals[1], outer, 0.5 * largest[u, v] - e)
                if shell_of[u] != shell_of[v]:
                    _log_add(tops[2], totals[2], inner, 0.5 * largest[v, n] - e)
    for k in (1, 2):
        for i in range(n - 2, -1, -1):
            if totals[k, i + 1] > 0.0:
                _log_add(tops[k], totals[k], i, tops[k, i + 1] + math.log(totals[k, i + 1]))
    result = np.full((3, n), -np.inf)
    for k in range(3):
        for i in range(n):
            if totals[k, i] > 0.0:
                result[k, i] = tops[k, i] + math.log(totals[k, i])
    return result


@njit(cache=True, nogil=True)
def chained_growth(sums, resistance, ranked, log_hops, log_sine, log_coercivity, single):
    """Logarithm of a bound of all soft labels: nodes from the ground outwards, each by the best.

    ``sums[c]`` and ``resistance[c]`` belong to corner c of a box of exponents; ``single`` bounds
    each node without a chain.  A node of rank p is bounded by what bounds all ranks below i, for
    some i <= p, times what the problem on C_i with such boundary values adds.
    """
    n = len(ranked)
    bound = np.zeros(n + 1)  # of all ranks below
    for p in range(n):
        u = ranked[p]
        best = single[u]
        for i in range(p + 1 if best > bound[p] else 0):
            added = -np.inf
            for c in range(len(sums)):
                own = 0.5 * resistance[c, u]
                strong = log_sine + 0.5 * (log_hops + sums[c, 0, i]) + own
                weak = log_hops + own + math.log(2.0) + sums[c, 1, i]
                between = log_hops + own + math.log(4.0) + sums[c, 2, i]
                top = max(strong, weak, between)
                total = math.exp(strong - top) + math.exp(weak - top) + math.exp(between - top)
                added = max(added, top + math.log(total))
            added -= log_coercivity
            grown = (
                added + math.log1p(math.exp(-added)) if added > 0 else math.log1p(math.exp(added))
            )
            best = min(best, bound[i] + grown)
        bound[p + 1] = max(bound[p], best)
    return bound[n]
