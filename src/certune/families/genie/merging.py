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


class _Sizes:
    """How many clusters there are of each size, and the sum of all differences between sizes.

    The normalised Gini index is 0 if all sizes are equal and 1 if one cluster has everything: the
    sum of all differences |a - b|, over pairs, divided by (m - 1) times the sum of m sizes.
    """

    def __init__(self, n_points: int) -> None:
        self._count = {1: n_points}
        self._n_points = n_points
        self.differences = 0

    def join(self, first: int, second: int) -> None:
        """Put one cluster in the place of two. O(number of different sizes)."""
        self._move(first, -1)
        self._move(second, -1)
        self._move(first + second, 1)

    def _move(self, size: int, step: int) -> None:
        if step < 0:
            self._count[size] -= 1
            if not self._count[size]:
                del self._count[size]
        spread = sum(count * abs(size - other) for other, count in self._count.items())
        self.differences += step * spread
        if step > 0:
            self._count[size] = self._count.get(size, 0) + 1

    @property
    def smallest(self) -> int:
        return min(self._count)

    def index(self, n_clusters: int) -> tuple[int, int]:
        """Gini index, as numerator and denominator."""
        return self.differences, max(1, n_clusters - 1) * self._n_points


def merge(edges: Sequence[Edge], n_points: int, k: int, threshold: Fraction) -> Merged:
    """Join clusters until k are left. O(n^2) at most."""
    sizes = _Sizes(n_points)
    label = list(range(n_points))
    members = [[point] for point in range(n_points)]
    left = list(edges)
    start = stop = None
    above, below = threshold.numerator, threshold.denominator
    for n_clusters in range(n_points, k, -1):
        top, bottom = sizes.index(n_clusters)
        chosen = 0
        if top * below > above * bottom:
            if stop is None or top * stop[1] < stop[0] * bottom:
                stop = top, bottom
            smallest = sizes.smallest
            chosen = next(
                number
                for number, (i, j) in enumerate(left)
                if len(members[label[i]]) == smallest or len(members[label[j]]) == smallest
            )
        elif start is None or top * start[1] > start[0] * bottom:
            start = top, bottom
        i, j = left.pop(chosen)
        first, second = sorted((label[i], label[j]))
        sizes.join(len(members[first]), len(members[second]))
        for point in members[second]:
            label[point] = first
        members[first] += members[second]
        members[second] = []
    labels = np.unique(label, return_inverse=True)[1].astype(np.int64)
    return Merged(
        labels,
        None if start is None else Fraction(*start),
        None if stop is None else Fraction(*stop),
    )
