"""Courses on which the order of linkage values has one sense.

Where the exponents of product linkage sum to less than 0, larger products are nearer.  A segment
on which the sum changes its sign is cut there.
"""

from __future__ import annotations

import math
from fractions import Fraction

from certune.families.linkage.course import Course, Line, make_course
from certune.families.linkage.instance import ClusteringInstance


def courses_along(
    instance: ClusteringInstance, line: Line, low: float, high: float
) -> tuple[list[Course], list[float]]:
    """Courses that together cover [low, high], and points of their own.

    They overlap in the two floats beside the place where the order turns round, if that is none:
    there trees of both senses count, of which one is the right one (docs/theory/linkage-sweep.md).
    """
    if not line.product:
        return [make_course(instance, line, low, high)], []
    ray = line.origin_of_ray
    if ray is not None:
        inside = [ray] if low <= ray <= high else []
        return [make_course(instance, line, low, high)], inside
    total, slope = line.total
    flip = -total / slope if slope != 0 else line.origin
    if flip is None or not low <= flip <= high:
        return [make_course(instance, line, low, high)], []
    near = float(flip)
    if Fraction(near) == flip:
        ends = (low, near), (near, high)
        return [make_course(instance, line, a, b) for a, b in ends if a < b], [near]
    senses = (1, 1) if slope == 0 else (-1, 1) if slope > 0 else (1, -1)
    return [
        make_course(instance, line, a, b, sense) for a, b, sense in _around(flip, low, high, senses)
    ], []


def _around(
    flip: Fraction, low: float, high: float, senses: tuple[int, int]
) -> list[tuple[float, float, int]]:
    """Intervals before and after a number between two floats, with the senses of the courses there.

    Both sides have an interval of their own around the two floats: what cannot be decided there
    leaves no more than that open.
    """
    near = float(flip)
    before = near if Fraction(near) < flip else math.nextafter(near, -math.inf)
    after = math.nextafter(before, math.inf)
    found = [
        (low, before, senses[0]),
        (max(low, math.nextafter(before, -math.inf)), after, senses[0]),
        (before, min(math.nextafter(after, math.inf), high), senses[1]),
        (after, high, senses[1]),
    ]
    return [(a, b, sense) for a, b, sense in found if a < b]
