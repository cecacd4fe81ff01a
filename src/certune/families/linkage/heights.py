"""Heights of the merges of a tree: the linkage values, as floats, for drawing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from certune.families.linkage.course import Course
from certune.families.linkage.tree import ClusterTree, sorted_tree
from certune.kernels.linkage import ENERGY, MAXIMUM, MINIMUM, merge_values

Floats = NDArray[np.float64]

LARGEST_LOGARITHM = 700.0  # of a float


def tree_at(
    course: Course,
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> ClusterTree:
    """Tree with its heights at one parameter, merges sorted by them."""
    tree = sorted_tree(left, right, merge_heights(course, left, right), labels)
    # Sorted before heights can leave the doubles.
    with np.errstate(over="ignore"):
        return replace(tree, heights=np.ldexp(tree.heights, -course.shift))


def merge_heights(
    course: Course, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Linkage value of every merge of a tree at one parameter, times ``2 ** course.shift``.

    Min-max linkage is divided by ``2 ** (1 / alpha)``, so that it is a mean and has a limit at
    alpha = 0; identical points merge at height 0.  Product linkage is the mean to the power of one
    over the sum of its exponents; to the power of its sign where that leaves the range of floats.
    Energies are taken to the power of one over alpha, so that Ward's are those of scipy. O(n^2).
    """
    powers = [value for value, _ in course.line.alpha]
    logs = course.first
    if course.kind in (MINIMUM, MAXIMUM):
        extremes = merge_values(course.kind, logs, left, right)
        return _at_zero(course, left, right, np.exp(extremes))
    total = float(sum(powers))
    root = total if total != 0 else 1.0
    exponents = logs * total
    if course.line.product and any(powers):
        exponents = logs  # which `first` holds, not the logarithm of a distance
        if np.abs(exponents).max() > LARGEST_LOGARITHM * abs(root):
            root = math.copysign(1.0, root)
    if not any(powers):
        return _at_zero(course, left, right, np.exp(merge_values(course.kind, logs, left, right)))
    top = float(exponents.max())
    values = np.exp(exponents - top)
    if course.kind == ENERGY:
        values[~course.instance.different] = 0.0  # which count within a cluster
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(merge_values(course.kind, values, left, right))
        return _at_zero(course, left, right, np.exp((top + found) / root))


def _at_zero(
    course: Course, left: NDArray[np.int64], right: NDArray[np.int64], heights: Floats
) -> Floats:
    """Heights, which are 0 where identical points are merged."""
    n = course.n
    if course.instance.n_distinct == n:
        return heights
    twins = np.full(2 * n - 1, -1)
    twins[:n] = course.instance.duplicate_of
    for node in range(n, 2 * n - 1):
        if twins[left[node]] == twins[right[node]]:
            twins[node] = twins[left[node]]
    return np.where(twins[n:] >= 0, 0.0, heights)
