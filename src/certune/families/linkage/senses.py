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
        before = after = near
        special = [near]
    else:
        before = near if Fraction(near) < flip else math.nextafter(near, -math.inf)
        after = math.nextafter(before, math.inf)
        special = []
    courses = []
    if low < flip:
        courses.append(make_course(instance, line, low, min(after, high)))
    if flip < high:
        courses.append(make_course(instance, line, max(before, low), high))
    return courses, special
