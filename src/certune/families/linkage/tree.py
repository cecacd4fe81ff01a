"""The output of a linkage algorithm: a cluster tree, its heights, and the best pruning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ClusterTree:
    """A cluster tree and its pruning into k clusters.

    Parameters
    ----------
    children : int array (n-1, 2)
        The two nodes joined by each merge; nodes 0..n-1 are points, merge i makes node n+i.
        Merges are sorted by height, as in scipy and scikit-learn.
    heights : float array (n-1,)
        Linkage value of each merge, non-decreasing.
    labels : int array (n,)
        Best pruning into k clusters, numbered in the order of their lowest member index.
    """

    children: NDArray[np.int64]
    heights: NDArray[np.float64]
    labels: NDArray[np.int64]

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.labels)

    @property
    def linkage_matrix(self) -> NDArray[np.float64]:
        """The tree in scipy's format, e.g. for `scipy.cluster.hierarchy.dendrogram`."""
        n = self.n_points
        counts = np.ones(2 * n - 1)
        for i, (a, b) in enumerate(self.children):
            counts[n + i] = counts[a] + counts[b]
        return np.column_stack([self.children, self.heights, counts[n:]]).astype(np.float64)


def sorted_tree(
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    heights: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> ClusterTree:
    """Tree with merges in order of height; children come before parents.

    ``left`` and ``right`` have length 2n-1.  Heights of a reducible linkage never decrease
    towards the root; rounding is not allowed to break that.
    """
    n = len(labels)
    raised = heights.tolist()
    for i, parts in enumerate(zip(left[n:].tolist(), right[n:].tolist(), strict=True)):
        for child in parts:
            if child >= n and raised[child - n] > raised[i]:
                raised[i] = raised[child - n]
    heights = np.array(raised)
    order = np.argsort(heights, kind="stable")
    position = np.empty(2 * n - 1, dtype=np.int64)
    position[:n] = np.arange(n)
    position[n + order] = n + np.arange(n - 1)
    children = np.column_stack([position[left[n:]], position[right[n:]]])[order]
    return ClusterTree(np.sort(children, axis=1), heights[order], labels)
