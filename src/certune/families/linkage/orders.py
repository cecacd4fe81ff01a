"""Orders of cluster pairs along a course: each is proved once, on as much of it as possible.

The sweep asks for the same order on many intervals, and where distances nearly tie many cluster
pairs have the same distances.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from certune.families.linkage.comparison import UNKNOWN, Comparison
from certune.families.linkage.course import Course, Stretch

Zone = tuple[float, float]

SURROUNDINGS = 2.0**6  # on so many widths of an interval beside it an order is looked for first
FEW_TERMS = 16  # with more terms proofs on a whole course take long
_NO_ZONE = (math.inf, math.inf)


class Order(NamedTuple):
    """Order on an interval: ``before`` its only change, which lies in the zone if there is one.

    ``tied`` says for both ends whether the order is that just inside, but not at the end.
    """

    before: int
    zone: Zone | None = None
    tied: tuple[bool, bool] = (False, False)


def order_on(
    course: Course,
    comparison: Comparison,
    low: float,
    high: float,
    inside: tuple[bool, bool] = (False, False),
) -> Order:
    """Order on [low, high], except at ends where only that just ``inside`` is asked for.

    The zone of a change is 12 units in the last place wider on both sides than what is proved, so
    that it stays valid as rounded shares of the interval (5 units at most).
    """
    marks = comparison.marks.tobytes()
    if marks not in course.proved:
        terms = comparison.fixed_terms
        key = marks if terms is None else terms
        if key not in course.proved:
            course.proved[key] = []
            if terms is None or len(terms) <= FEW_TERMS:
                whole = course.low, course.high, (True, True)
                course.proved[key] = _stretches(comparison, *whole, low + 0.5 * (high - low))
        course.proved[marks] = course.proved[key]
    proved = course.proved[marks]
    for stretch in proved:
        order = _part(stretch, low, high, inside)
        if order is not None:
            return order
    start, stop = _surroundings(course, low, high)
    for ends in (
        (start, stop, (start == course.low, stop == course.high)),
        (low, high, inside),
    ):
        for stretch in _stretches(comparison, *ends, low + 0.5 * (high - low)):
            order = _part(stretch, low, high, inside)
            if order is not None:
                proved.append(stretch)
                return order
    return Order(UNKNOWN)


def _surroundings(course: Course, low: float, high: float) -> Zone:
    """An interval so much wider that the next questions are likely to lie in it."""
    reach = SURROUNDINGS * (high - low)
    return max(course.low, low - reach), min(course.high, high + reach)


def _stretches(
    comparison: Comparison, low: float, high: float, inside: tuple[bool, bool], place: float
) -> list[Stretch]:
    """The stretch from low to high, if the order has at most one change there.

    It has two if it is another one at a place than at both ends.
    """
    order = comparison.at(low)
    if order in (-1, 1) and order == comparison.at(high) == -comparison.at(place):
        return []
    return _constant(comparison, low, high, inside) or _one_change(comparison, low, high)


def _part(stretch: Stretch, low: float, high: float, inside: tuple[bool, bool]) -> Order | None:
    """What is proved on a stretch says about a part of it, if that is enough."""
    if not (stretch.low <= low and high <= stretch.high):
        return None
    tied = stretch.tied[0] and low == stretch.low, stretch.tied[1] and high == stretch.high
    if (tied[0] and not inside[0]) or (tied[1] and not inside[1]):
        return None
    if high <= stretch.zone[0]:
        return Order(stretch.order, None, tied)
    if stretch.zone[1] <= low:
        return Order(-stretch.order, None, tied)
    if low <= stretch.zone[0] and stretch.zone[1] <= high:
        return Order(stretch.order, _wider(stretch.zone, low, high), tied)
    return None


def _unit(low: float, high: float) -> float:
    return math.ulp(max(abs(low), abs(high)))


def _wider(zone: Zone, low: float, high: float) -> Zone:
    unit = _unit(low, high)
    return zone[0] - 12 * unit, zone[1] + 12 * unit


def _constant(
    comparison: Comparison, low: float, high: float, inside: tuple[bool, bool]
) -> list[Stretch]:
    order = comparison.on(low, high, low_end=inside[0], high_end=inside[1])
    if order == UNKNOWN:
        return []
    tied = (
        inside[0] and comparison.at(low) != order,
        inside[1] and comparison.at(high) != order,
    )
    return [Stretch(low, high, order, _NO_ZONE, tied)]


def _one_change(comparison: Comparison, low: float, high: float) -> list[Stretch]:
    """The stretch with the one change of order between two points, if that is proved.

    Signs at points find the change; the orders are proved up to 4 units beside it.  They are looked
    at in pairs, close beside where the difference would vanish if it were linear.
    """
    before, after = low, high
    left, right = comparison.at(low), comparison.at(high)
    if left * right != -1:
        return []
    unit = _unit(low, high)
    while after - before > unit:
        width = after - before
        for t in _candidates(comparison, before, after, unit):
            if before < t < after:
                order = comparison.at(t)
                if order == left:
                    before = t
                elif order == right:
                    after = t
                else:
                    break
        if after - before == width:
            break
    first, last = before - 4 * unit, after + 4 * unit
    if (first <= low or comparison.on(low, first) == left) and (
        last >= high or comparison.on(last, high) == right
    ):
        return [Stretch(low, high, left, (first, last))]
    return []


def _candidates(comparison: Comparison, low: float, high: float, unit: float) -> Iterator[float]:
    """Points on both sides of a guess, and one that halves the interval if that is not done yet."""
    at_low, at_high = comparison.excess(low), comparison.excess(high)
    if at_low * at_high < 0:
        guess = low + (high - low) * (at_low / (at_low - at_high))
        beside = max(unit, (high - low) / 256)
        yield guess - beside
        yield guess + beside
    yield low + 0.5 * (high - low)
