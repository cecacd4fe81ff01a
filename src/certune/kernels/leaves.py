"""Leaves, splits and partitions that a sweep has found so far, in arrays that grow."""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.linking import linked

GROWTH = 1.25  # what makes an undecided place at most this much longer joins it


@linked
def room_for(array, count):
    """Return the array of rows, or a copy twice as long if it is full."""
    if count < array.shape[0]:
        return array
    bigger = np.empty((2 * array.shape[0], array.shape[1]), dtype=array.dtype)
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            bigger[i, j] = array[i, j]
    return bigger


@borrowing
def same_partition(partitions, i, labels):
    """Is the partition number i that of the labels?"""
    for p in range(labels.size):
        if partitions[i, p] != labels[p]:
            return False
    return True


@borrowing
def number_of(labels, partitions, n_partitions):
    """Number of the partition among those seen, most recent first, or that of a new one."""
    for i in range(n_partitions - 1, -1, -1):
        if same_partition(partitions, i, labels):
            return i
    for p in range(labels.size):
        partitions[n_partitions, p] = labels[p]
    return n_partitions


@borrowing
def write_leaf(intervals, info, i, low, high, split_before, split_after, partition):
    """Write leaf i: an interval, the splits at its ends (-1: none) and its partition."""
    intervals[i, 0] = low
    intervals[i, 1] = high
    info[i, 0] = split_before
    info[i, 1] = split_after
    info[i, 2] = partition


@borrowing
def joins_place(place, low, high):
    """Does an interval belong to the place (2,) where leaves are undecided already?

    Inside of it nothing is gained by a decision, since all leaves of a point count.
    """
    return (
        low <= place[1]
        and place[0] <= high
        and max(high, place[1]) - min(low, place[0]) <= GROWTH * (place[1] - place[0])
    )


@borrowing
def add_to_place(place, low, high):
    """Make an undecided leaf part of the place, or begin another one if they do not meet."""
    if high < place[0] or place[1] < low:
        place[0] = low
        place[1] = high
    place[0] = min(place[0], low)
    place[1] = max(place[1], high)
