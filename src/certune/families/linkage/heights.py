"""Heights of the merges of a tree: the linkage values, as floats, for drawing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from certune.families.linkage.course import Course
from certune.kernels.linkage import MAXIMUM, MEAN, MINIMUM

LARGEST_LOGARITHM = 700.0  # of a float


def merge_heights(
    course: Course, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Linkage value of every merge of a tree at one parameter, times ``2 ** course.shift``.

    Min-max linkage is divided by ``2 ** (1 / alpha)``, so that it is a mean and has a limit at
    alpha = 0; identical points merge at height 0.  Product linkage is the mean to the power of one
    over the sum of its exponents; to the power of its sign where that leaves the range of floats.
    """
    n = course.n
    members = [np.array([p]) for p in range(n)]
    line = course.line
    heights = np.zeros(n - 1)
    duplicate_of = course.instance.duplicate_of
    logs = course.first
    total = 1.0 if line.infinite else float(sum(value for value, _ in line.alpha))
    powers = [value for value, _ in line.alpha]
    exponent = logs * total
    root = total if total != 0 else 1.0
    if line.product and any(powers):
        exponent = logs  # which `first` holds, not the logarithm of a distance
        if np.abs(exponent).max() > LARGEST_LOGARITHM * abs(root):
            root = math.copysign(1.0, root)
    for i in range(n - 1):
        a, b = members[left[n + i]], members[right[n + i]]
        members.append(np.concatenate([a, b]))
        if duplicate_of[a[0]] == duplicate_of[b[0]] and _all_same(duplicate_of, a, b):
            continue
        if course.kind == MINIMUM or course.kind == MAXIMUM:
            block = logs[np.ix_(a, b)]
            heights[i] = math.exp(block.min() if course.kind == MINIMUM else block.max())
            continue
        block = exponent[np.ix_(a, b)] if total != 0 or line.product else logs[np.ix_(a, b)]
        if course.kind != MEAN:
            block = np.array([block.min(), block.max()])
        heights[i] = _power_mean(block, root, geometric=not any(powers))
    return heights


def _all_same(duplicate_of: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    first = duplicate_of[a[0]]
    return bool((duplicate_of[a] == first).all() and (duplicate_of[b] == first).all())


def _power_mean(exponents: NDArray[np.float64], root: float, *, geometric: bool) -> float:
    """``mean(exp(exponents)) ** (1 / root)``; the geometric mean if all powers are zero."""
    if geometric:
        return math.exp(float(exponents.mean()))
    top = float(exponents.max())
    log_mean = top + math.log(float(np.exp(exponents - top).mean()))
    return math.exp(log_mean / root)
