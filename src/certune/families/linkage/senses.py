"""Courses on which the order of linkage values has one sense.

Where the exponents of product linkage sum to less than 0, larger products are nearer.  A segment
on which the sum changes its sign is cut there, unless all exponents vanish there: the Box-Cox form
of powers has the same order on both sides.  If the sum is always 0 that order turns round, and a
segment is cut where all exponents vanish.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from certune.families.linkage.course import (
    NO_MEETING,
    Course,
    Line,
    Meeting,
    floats_around,
    make_course,
    restricted,
)
from certune.families.linkage.identities import merged_codes
from certune.families.linkage.instance import ClusteringInstance
from certune.kernels.series import AFFINE, POWER

MANY_SHARE = 2.0  # pairs per value that make it worth while to cut a course


def courses_along(
    instance: ClusteringInstance, line: Line, low: float, high: float
) -> tuple[list[Course], list[float | Fraction]]:
    """Courses that together cover [low, high], and points of their own.

    They overlap in the two floats beside the place where the order turns round, if that is none:
    there trees of both senses count, of which one is the right one (docs/theory/linkage-sweep.md).
    Products have a value of their own where all exponents are 0, and, if it is a float, where the
    order turns round.
    """
    courses, special = _with_one_sense(instance, line, low, high)
    if not line.product:
        return courses, special
    cut = [_cut_at_meetings(course) for course in courses]
    special += [place for _, places in cut for place in places]
    return [part for parts, _ in cut for part in parts], special


def _with_one_sense(
    instance: ClusteringInstance, line: Line, low: float, high: float
) -> tuple[list[Course], list[float | Fraction]]:
    if not line.product:
        return [make_course(instance, line, low, high)], []
    if line.origin is not None and line.total[1] != 0:
        special = [_simplified(line.origin)] if low <= line.origin <= high else []
        return _ties_merged([make_course(instance, line, low, high)]), special
    turn = _turn(line)
    if turn is None or not low <= turn <= high:
        return _ties_merged([make_course(instance, line, low, high)]), []
    place = _simplified(turn)
    if isinstance(place, float):
        ends = (low, place), (place, high)
        courses = [make_course(instance, line, a, b) for a, b in ends if a < b]
        return _ties_merged(courses), [place]
    courses = _courses_around(turn, instance, line, low, high)
    return _ties_merged(courses), [place] if turn == line.origin else []


def _courses_around(
    turn: Fraction, instance: ClusteringInstance, line: Line, low: float, high: float
) -> list[Course]:
    """Courses before (-1) and behind (1) a number between two floats.

    What cannot be decided around the two floats leaves no more than that open.
    """
    before, after = floats_around(turn)
    edges = math.nextafter(before, -math.inf), math.nextafter(after, math.inf)
    apart = instance.metrics_agree or turn == line.origin
    if apart:
        # Powers of one distance do not show that all of them tie at the turn, and end before it.
        around = [(low, before, -1), (edges[0], after, -1), (before, edges[1], 1), (after, high, 1)]
    else:
        around = [(low, after, -1), (before, high, 1)]
    clipped = [(max(low, a), min(b, high), side) for a, b, side in around]
    return [
        replace(make_course(instance, line, a, b, side), edges=() if apart else (edges[side > 0],))
        for a, b, side in clipped
        if a < b
    ]


def _ties_merged(courses: list[Course]) -> list[Course]:
    """Courses that know which pairs have the same product all along a line through the origin."""
    line = courses[0].line
    if line.origin is None or courses[0].mode != POWER:
        return courses
    codes = merged_codes(courses[0], [slope for _, slope in line.exact_alpha])
    return [replace(course, merged_codes=codes) for course in courses]


def _cut_at_meetings(course: Course) -> tuple[list[Course], list[float | Fraction]]:
    """Parts of a course of products that end where an exponent vanishes and many values meet.

    Returns the places inside of it as well.
    """
    if course.mode != AFFINE:
        return [course], []
    parts, places = list[Course](), list[float | Fraction]()
    low, start = course.low, NO_MEETING
    zeros = {-value / slope for value, slope in course.line.exact_alpha if slope != 0}
    for zero in sorted(zeros):
        place = _simplified(zero)
        before, after = (place, place) if isinstance(place, float) else floats_around(place)
        inside = low < before and after < course.high
        if not inside and place not in (course.low, course.high):
            continue
        meeting = _meeting(course, zero, MANY_SHARE if inside else 1.0)
        if meeting is None:
            continue
        if low < before:
            parts.append(replace(restricted(course, low, before), meetings=(start, meeting)))
        if inside:
            places.append(place)
        low, start = after, meeting
    if low < course.high:
        part = restricted(course, low, course.high) if parts else course
        parts.append(replace(part, meetings=(start, NO_MEETING)))
    return parts, places


def _meeting(course: Course, place: Fraction, share: float) -> Meeting | None:
    """Codes of the pairs where an exponent vanishes, if more than a share have the same value."""
    instance = course.instance
    exponents = {i: a for i, a in enumerate(course.line.exponents(place)) if a != 0}
    if sum(exponents.values()) == 0:
        return None
    codes, shared = instance.shared_values(tuple(exponents))
    if shared <= share:
        return None
    (metric, exponent), *others = exponents.items()
    if exponent == 1 and not others and (whole := instance.whole_distances(metric)) is not None:
        return Meeting(whole, True, place)
    return Meeting(codes, False, place)


def _simplified(place: Fraction) -> float | Fraction:
    """The float that is equal to a number, if there is one."""
    near = float(place)
    return near if Fraction(near) == place else place


def _turn(line: Line) -> Fraction | None:
    """The t at which the order of products turns round.

    That is where the exponents sum to 0; if they always do, where all of them are 0.
    """
    total, slope = line.total
    return -total / slope if slope != 0 else line.origin
