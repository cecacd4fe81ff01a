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

    They overlap in the two floats beside the place where the order turns round, if that is none.
    """
    if not line.product:
        return [make_course(instance, line, low, high)], []
    ray = line.origin_of_ray
    if ray is not None:
        inside = [ray] if low <= ray <= high else []
        return [make_course(instance, line, low, high)], inside
    total, slope = line.total
    if slope == 0 or not low <= -total / slope <= high:
        return [make_course(instance, line, low, high)], []
    flip = -total / slope
    near = float(flip)
    if Fraction(near) == flip:
        ends = (low, near), (near, high)
        return [make_course(instance, line, a, b) for a, b in ends if a < b], [near]
    return [
        make_course(instance, line, a, b, sense)
        for a, b, sense in _around(flip, low, high, 1 if slope > 0 else -1)
    ], []


def _around(flip: Fraction, low: float, high: float, sense: int) -> list[tuple[float, float, int]]:
    """Intervals before and after a number between two floats, where the sum of exponents is 0.

    Each comes with the sign of the sum on it, in the end ``sense``. Both signs have an interval of
    their own around the two floats: what cannot be decided there leaves no more than that open.
    """
    near = float(flip)
    before = near if Fraction(near) < flip else math.nextafter(near, -math.inf)
    after = math.nextafter(before, math.inf)
    found = [
        (low, before, -sense),
        (max(low, math.nextafter(before, -math.inf)), after, -sense),
        (before, min(math.nextafter(after, math.inf), high), sense),
        (after, high, sense),
    ]
    return [(a, b, own) for a, b, own in found if a < b]
