"""Orders of cluster pairs along a course: each is proved once, on as much of it as possible.

The sweep asks for the same order on many intervals, and where distances nearly tie many cluster
pairs have the same distances.
"""

from __future__ import annotations

import math

from certune.families.linkage.comparison import UNKNOWN, Comparison
from certune.families.linkage.course import Course, Stretch

_NO_ZONE = (math.inf, math.inf)


def order_on(
    course: Course, comparison: Comparison, low: float, high: float
) -> tuple[int, tuple[float, float] | None]:
    """Order on [low, high], or that before the only change on it and a zone around this change.

    The zone is 12 units in the last place wider on both sides than what is proved, so that it stays
    valid as rounded shares of the interval (5 units at most).
    """
    marks = comparison.marks.tobytes()
    if marks not in course.proved:
        terms = comparison.fixed_terms
        key = marks if terms is None else terms
        if key not in course.proved:
            course.proved[key] = _constant(comparison, course.low, course.high)
        course.proved[marks] = course.proved[key]
    proved = course.proved[marks]
    for stretch in proved:
        if stretch.low <= low and high <= stretch.high:
            if high <= stretch.zone[0]:
                return stretch.order, None
            if stretch.zone[1] <= low:
                return -stretch.order, None
            if low <= stretch.zone[0] and stretch.zone[1] <= high:
                return stretch.order, _wider(stretch.zone, low, high)
    found = _constant(comparison, low, high) or _one_change(comparison, low, high)
    if not found:
        return UNKNOWN, None
    proved += found
    zone = found[0].zone
    return found[0].order, None if zone == _NO_ZONE else _wider(zone, low, high)


def _unit(low: float, high: float) -> float:
    return math.ulp(max(abs(low), abs(high)))


def _wider(zone: tuple[float, float], low: float, high: float) -> tuple[float, float]:
    unit = _unit(low, high)
    return zone[0] - 12 * unit, zone[1] + 12 * unit


def _constant(comparison: Comparison, low: float, high: float) -> list[Stretch]:
    order = comparison.on(low, high)
    return [] if order == UNKNOWN else [Stretch(low, high, order, _NO_ZONE)]


def _one_change(comparison: Comparison, low: float, high: float) -> list[Stretch]:
    """The stretch with the one change of order between two points, if that is proved.

    Signs at points find the change; the orders are proved up to 4 units beside it.
    """
    before, after = low, high
    left, right = comparison.at(low), comparison.at(high)
    if left * right != -1:
        return []
    unit = _unit(low, high)
    while after - before > unit:
        middle = before + 0.5 * (after - before)
        order = comparison.at(middle)
        if order == left:
            before = middle
        elif order == right:
            after = middle
        else:
            break
    first, last = before - 4 * unit, after + 4 * unit
    if (first <= low or comparison.on(low, first) == left) and (
        last >= high or comparison.on(last, high) == right
    ):
        return [Stretch(low, high, left, (first, last))]
    return []
