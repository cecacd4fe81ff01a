"""Labels that one class wins by far on a whole box of rates, however large the box is.

At small bandwidths the weights of a graph differ by many orders of magnitude: a point is bound to
the nearest labels by a path of strong edges, and everything else lies behind a cut of weak ones.
The probability that a random walk leaves through the cut before it follows the path is at most the
weight of the cut times the resistance of the path (``docs/theory/harmonic-boxes.md``).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Terms below exp(-NEGLIGIBLE) of the weakest edge of the path are counted by their number.
NEGLIGIBLE = 40.0


@njit(cache=True, nogil=True)
def exponents_at(between, to_labelled, rates):
    """Exponents (points, n, n + labels) of all edges at several rates."""
    n_metrics, n, n_labelled = to_labelled.shape
    result = np.zeros((rates.shape[0], n, n + n_labelled))
    for v in range(rates.shape[0]):
        for k in range(n_metrics):
            if rates[v, k] != 0.0:
                for i in range(n):
                    for j in range(n):
                        result[v, i, j] += rates[v, k] * between[k, i, j]
                    for j in range(n_labelled):
                        result[v, i, n + j] += rates[v, k] * to_labelled[k, i, j]
    return result


@njit(cache=True, nogil=True)
def _grow(centre, is_edge, is_edge_to_labelled, class_of, start, order, parent):
    """Grow a tree from a node by the strongest edges, until labels of two classes are reached.

    Returns the class reached first, the node and the label of the edge that reached it, and how
    many nodes of ``order`` lie before the weakest edge that came after it.
    """
    n, n_labelled = is_edge_to_labelled.shape
    key, label_key = np.full(n, np.inf), np.full(n_labelled, np.inf)
    label_parent = np.full(n_labelled, -1)
    seen = np.zeros(n, np.bool_)
    winner, last, label, size, weakest = -1, -1, -1, 0, -np.inf
    count = 0
    node = start
    while True:
        if node >= 0:
            seen[node] = True
            order[count] = node
            count += 1
            for j in range(n):
                if is_edge[node, j] and not seen[j] and centre[node, j] < key[j]:
                    key[j] = centre[node, j]
                    parent[j] = node
            for j in range(n_labelled):
                if is_edge_to_labelled[node, j] and centre[node, n + j] < label_key[j]:
                    label_key[j] = centre[node, n + j]
                    label_parent[j] = node
        near, near_label = -1, -1
        for j in range(n):
            if not seen[j] and key[j] < np.inf and (near < 0 or key[j] < key[near]):
                near = j
        for j in range(n_labelled):
            if class_of[j] != winner and label_key[j] < np.inf:
                if near_label < 0 or label_key[j] < label_key[near_label]:
                    near_label = j
        by_label = near_label >= 0 and (near < 0 or label_key[near_label] <= key[near])
        if winner < 0 and by_label:
            winner, last, label = class_of[near_label], label_parent[near_label], near_label
            node = -1
            continue
        if winner >= 0:
            step = np.inf
            if by_label:
                step = label_key[near_label]
            elif near >= 0:
                step = key[near]
            if step > weakest:
                weakest = step
                size = count
        if by_label or near < 0:
            return winner, last, label, size
        node = near


@njit(cache=True, nogil=True)
def dominant_classes(exponents, is_edge, is_edge_to_labelled, class_of, nodes, slack):
    """Class that has more than half of the soft label of each node on the whole box, or -1.

    ``exponents[0]`` are those at the centre, which choose paths and cuts; the others those at the
    vertices, where the bound is largest.
    """
    n, n_labelled = is_edge_to_labelled.shape
    result = np.full(len(nodes), -1)
    order, parent = np.empty(n, np.int64), np.empty(n, np.int64)
    inside = np.zeros(n, np.bool_)
    for place in range(len(nodes)):
        start = nodes[place]
        winner, last, label, size = _grow(
            exponents[0], is_edge, is_edge_to_labelled, class_of, start, order, parent
        )
        if winner < 0 or size == 0:
            continue
        inside[:] = False
        for k in range(size):
            inside[order[k]] = True
        proved = True
        for v in range(1, exponents.shape[0]):
            table = exponents[v]
            weakest = table[last, n + label]
            node = last
            while node != start:
                weakest = max(weakest, table[parent[node], node])
                node = parent[node]
            path = math.exp(table[last, n + label] - weakest)
            node = last
            while node != start:
                path += math.exp(table[parent[node], node] - weakest)
                node = parent[node]
            cut, n_small = 0.0, 0
            for k in range(size):
                i = order[k]
                for j in range(n):
                    if is_edge[i, j] and not inside[j]:
                        if weakest - table[i, j] < -NEGLIGIBLE:
                            n_small += 1
                        else:
                            cut += math.exp(weakest - table[i, j])
                for j in range(n_labelled):
                    if is_edge_to_labelled[i, j] and class_of[j] != winner:
                        if weakest - table[i, n + j] < -NEGLIGIBLE:
                            n_small += 1
                        else:
                            cut += math.exp(weakest - table[i, n + j])
                if cut * path >= 0.5:
                    break
            if not (cut + n_small * math.exp(-NEGLIGIBLE)) * path * slack < 0.5:
                proved = False
                break
        if proved:
            result[place] = winner
    return result
