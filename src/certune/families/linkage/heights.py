"""Heights of the merges of a tree: the linkage values, as floats, for drawing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from certune.families.linkage.course import Course
from certune.kernels.linkage import ENERGY, MAXIMUM, MEAN, MINIMUM

Floats = NDArray[np.float64]

LARGEST_LOGARITHM = 700.0  # of a float


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
        extremes = _extremes(logs, left, right)
        return _at_zero(course, left, right, np.exp(extremes[int(course.kind == MAXIMUM)]))
    total = float(sum(powers))
    root = total if total != 0 else 1.0
    exponents = logs * total
    if course.line.product and any(powers):
        exponents = logs  # which `first` holds, not the logarithm of a distance
        if np.abs(exponents).max() > LARGEST_LOGARITHM * abs(root):
            root = math.copysign(1.0, root)
    if not any(powers):
        return _at_zero(course, left, right, np.exp(_means(course, logs, left, right)))
    top = float(exponents.max())
    values = np.exp(exponents - top)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(_means(course, values, left, right))
        return _at_zero(course, left, right, np.exp((top + found) / root))


def _at_zero(
    course: Course, left: NDArray[np.int64], right: NDArray[np.int64], heights: Floats
) -> Floats:
    """Heights, which are 0 where identical points are merged."""
    n = course.n
    twins = np.full(2 * n - 1, -1)
    twins[:n] = course.instance.duplicate_of
    for node in range(n, 2 * n - 1):
        if twins[left[node]] == twins[right[node]]:
            twins[node] = twins[left[node]]
    return np.where(twins[n:] >= 0, 0.0, heights)


def _means(
    course: Course, values: Floats, left: NDArray[np.int64], right: NDArray[np.int64]
) -> Floats:
    """What each merge makes of the values of its pairs of points: mean, half sum, or energy."""
    if course.kind not in (MEAN, ENERGY):
        low, high = _extremes(values, left, right)
        return 0.5 * (low + high)
    n = course.n
    values = np.where(course.instance.different, values, 0.0)
    sums = np.empty((2 * n - 1, n))  # over the members of a node, for every point
    sums[:n] = values
    members = [np.array([p]) for p in range(n)]
    within = np.zeros(2 * n - 1)  # sums over the unordered pairs of members
    found = np.empty(n - 1)
    for node in range(n, 2 * n - 1):
        a, b = left[node], right[node]
        n_a, n_b = len(members[a]), len(members[b])
        members.append(np.concatenate([members[a], members[b]]))
        sums[node] = sums[a] + sums[b]
        between = sums[a][members[b]].sum()
        within[node] = within[a] + within[b] + between
        mean = between / (n_a * n_b)
        if course.kind == ENERGY:
            mean -= within[a] / n_a**2 + within[b] / n_b**2
            mean *= 2 * n_a * n_b / (n_a + n_b)
        found[node - n] = mean
    return found


def _extremes(
    values: Floats, left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Smallest and largest value of the pairs of points of each merge."""
    n = len(values)
    low, high = np.empty((2 * n - 1, n)), np.empty((2 * n - 1, n))
    low[:n] = high[:n] = values
    members = [np.array([p]) for p in range(n)]
    least, most = np.empty(n - 1), np.empty(n - 1)
    for node in range(n, 2 * n - 1):
        a, b = left[node], right[node]
        members.append(np.concatenate([members[a], members[b]]))
        np.minimum(low[a], low[b], out=low[node])
        np.maximum(high[a], high[b], out=high[node])
        least[node - n] = low[a][members[b]].min()
        most[node - n] = high[a][members[b]].max()
    return least, most
