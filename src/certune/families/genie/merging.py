"""The Genie algorithm at one threshold, and up to which thresholds it would do the same.

Clusters are joined along the edges of the minimum spanning tree: the shortest one or, while the
Gini index of the cluster sizes exceeds the threshold, the shortest one at a cluster of the smallest
size (Gagolewski, Bartoszuk and Cena, 2016).  The threshold enters only through these comparisons,
and Gini indices are rational numbers: between the largest index that did not exceed it and the
smallest that did, nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Edge = tuple[int, int]


@dataclass(frozen=True)
class Merged:
    """Labels at a threshold, the same for all thresholds in [start, stop); None: without end."""

    labels: IntArray
    start: Fraction | None
    stop: Fraction | None


def spanning_edges(distances: NDArray[np.float64]) -> list[Edge]:
    """Edges of the minimum spanning tree, shortest first; of equal ones the lowest indices.

    Prim's algorithm with the order (length, lower index, higher index), in which no two edges tie;
    O(n^2 log n).
    """
    n = len(distances)
    joined = np.zeros(n, dtype=np.bool_)
    joined[0] = True
    length, other = distances[0].copy(), np.zeros(n, dtype=np.int64)
    edges: list[tuple[float, int, int]] = []
    points = np.arange(n)
    for _ in range(n - 1):
        order = np.lexsort((np.maximum(points, other), np.minimum(points, other), length))
        new = int(order[~joined[order]][0])
        ends = new, int(other[new])
        edges.append((float(length[new]), min(ends), max(ends)))
        joined[new] = True
        shorter = distances[new] < length
        low, high = np.minimum(points, new), np.maximum(points, new)
        own_low, own_high = np.minimum(points, other), np.maximum(points, other)
        before = (low < own_low) | ((low == own_low) & (high < own_high))
        shorter |= (distances[new] == length) & before
        length, other = np.where(shorter, distances[new], length), np.where(shorter, new, other)
    return [(i, j) for _, i, j in sorted(edges)]


def merge(edges: Sequence[Edge], n_points: int, k: int, threshold: Fraction) -> Merged:
    """Join clusters until k are left. O(n^2)."""
    label = np.arange(n_points)
    sizes = np.ones(n_points, dtype=np.int64)
    left = list(edges)
    start = stop = None
    for n_clusters in range(n_points, k, -1):
        index = gini(sizes[sizes > 0])
        chosen = 0
        if index > threshold:
            stop = index if stop is None else min(stop, index)
            smallest = sizes[sizes > 0].min()
            chosen = next(
                number
                for number, (i, j) in enumerate(left)
                if smallest in (sizes[label[i]], sizes[label[j]])
            )
        else:
            start = index if start is None else max(start, index)
        first, second = sorted(int(label[point]) for point in left.pop(chosen))
        sizes[first] += sizes[second]
        sizes[second] = 0
        label[label == second] = first
        assert np.count_nonzero(sizes) == n_clusters - 1
    return Merged(np.unique(label, return_inverse=True)[1].astype(np.int64), start, stop)


def gini(sizes: IntArray) -> Fraction:
    """Normalised Gini index of cluster sizes: 0 if all are equal, 1 if one has everything.

    The sum of all differences |a - b|, over pairs, divided by (m - 1) times the sum of m sizes.
    """
    count = len(sizes)
    if count < 2:
        return Fraction(0)
    ordered = np.sort(sizes)
    differences = int((ordered * (2 * np.arange(count) - count + 1)).sum())
    return Fraction(differences, (count - 1) * int(ordered.sum()))
