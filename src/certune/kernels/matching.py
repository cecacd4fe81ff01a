"""Best matchings of predicted clusters to classes, in integers.

The share of points in the right cluster depends on which cluster stands for which class. The best
choice is an assignment problem on the table of common points, solved here by shortest augmenting
paths with integer potentials, so that the count is exact. A sweep asks for many partitions of the
same points at once.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def matched_points(target, partitions):
    """Largest numbers of points that a matching of clusters to classes gets right.

    Parameters
    ----------
    target : int64 array (n,)
        Codes 0, 1, ... of the classes.
    partitions : int64 array (r, n)
        Codes 0, 1, ... of the clusters in each of r partitions.

    Returns
    -------
    int64 array (r,)
        Clusters or classes that are left over count as wrong.

    Notes
    -----
    O(n + a^2 b) for each partition, where a <= b are the numbers of classes and of clusters.
    """
    matched = np.empty(partitions.shape[0], np.int64)
    n_classes = target.max() + 1
    for i in range(partitions.shape[0]):
        labels = partitions[i]
        n_clusters = labels.max() + 1
        if n_classes <= n_clusters:
            common = np.zeros((n_classes, n_clusters), np.int64)
            for p in range(labels.size):
                common[target[p], labels[p]] += 1
        else:
            common = np.zeros((n_clusters, n_classes), np.int64)
            for p in range(labels.size):
                common[labels[p], target[p]] += 1
        matched[i] = heaviest_matching(common)
    return matched


@njit(cache=True, nogil=True)
def heaviest_matching(weights):
    """Largest sum of one entry in each row of a table, no two of them in the same column.

    The table has at least as many columns as rows. Rows join one by one: the cheapest alternating
    path from the new row to a free column, by reduced costs that the potentials keep non-negative,
    says who moves where (the Hungarian method).
    """
    rows, columns = weights.shape
    row_of = np.full(columns + 1, -1, np.int64)  # the last column holds the row that joins
    row_potential = np.zeros(rows, np.int64)
    column_potential = np.zeros(columns + 1, np.int64)
    distance = np.empty(columns, np.int64)
    came_from = np.empty(columns, np.int64)
    done = np.empty(columns + 1, np.bool_)
    for row in range(rows):
        row_of[columns] = row
        distance[:] = np.iinfo(np.int64).max
        done[:] = False
        column = columns
        while row_of[column] >= 0:
            done[column] = True
            here = row_of[column]
            nearest = -1
            for j in range(columns):
                if done[j]:
                    continue
                reduced = -weights[here, j] - row_potential[here] - column_potential[j]
                if reduced < distance[j]:
                    distance[j] = reduced
                    came_from[j] = column
                if nearest < 0 or distance[j] < distance[nearest]:
                    nearest = j
            step = distance[nearest]
            for j in range(columns + 1):
                if done[j]:
                    row_potential[row_of[j]] += step
                    column_potential[j] -= step
                elif j < columns:
                    distance[j] -= step
            column = nearest
        while column != columns:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    total = np.int64(0)
    for j in range(columns):
        if row_of[j] >= 0:
            total += weights[row_of[j], j]
    return total
