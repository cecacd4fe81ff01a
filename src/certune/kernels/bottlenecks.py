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
def range_of_strong(
    first, second, first_to_labelled, second_to_labelled, is_edge, is_edge_to_labelled, margins,
    margins_to_labelled, cutoff,
):  # fmt: skip
    """Range (largest minus smallest) of both coefficients over the edges with margin <= cutoff."""
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    n, n_labelled = first_to_labelled.shape
    for i in range(n):
        for j in range(i + 1, n):
            if is_edge[i, j] and margins[i, j] <= cutoff:
                low[0], high[0] = min(low[0], first[i, j]), max(high[0], first[i, j])
                low[1], high[1] = min(low[1], second[i, j]), max(high[1], second[i, j])
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j] and margins_to_labelled[i, j] <= cutoff:
                a, b = first_to_labelled[i, j], second_to_labelled[i, j]
                low[0], high[0] = min(low[0], a), max(high[0], a)
                low[1], high[1] = min(low[1], b), max(high[1], b)
    return high[0] - low[0], high[1] - low[1]


@njit(cache=True, nogil=True)
def log_weak_sum(
    between, to_labelled, is_edge, is_edge_to_labelled, largest, margins, margins_to_labelled,
    cutoff,
):  # fmt: skip
    """Logarithm of the sum of ``exp(largest / 2 - exponent)`` over edges with margin > cutoff."""
    n, n_labelled = to_labelled.shape
    top, total = -np.inf, 0.0
    for i in range(n):
        for j in range(i + 1, n + n_labelled):
            if j < n:
                weak = is_edge[i, j] and margins[i, j] > cutoff
                y = 0.5 * largest[i, j] - between[i, j]
            else:
                weak = is_edge_to_labelled[i, j - n] and margins_to_labelled[i, j - n] > cutoff
                y = 0.5 * largest[i, n] - to_labelled[i, j - n]
            if not weak:
                continue
            if y > top:
                total = total * math.exp(top - y) + 1.0
                top = y
            else:
                total += math.exp(y - top)
    return top + math.log(total) if total > 0.0 else -np.inf
