"""Courses on which the order of linkage values has one sense.

Where the exponents of product linkage sum to less than 0, larger products are nearer.  A segment
on which the sum changes its sign is cut there, unless all exponents vanish there: the Box-Cox form
of powers has the same order on both sides.  If the sum is always 0 that order turns round, and a
segment is cut where all exponents vanish.  Courses are cut further where many values meet.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from certune.families.linkage.course import Course, make_course
from certune.families.linkage.identities import merged_codes
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.lines import Line, floats_around, simplified
from certune.families.linkage.meetings import cut_at_meetings
from certune.kernels.linkage import POWER


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
    cut = [cut_at_meetings(course) for course in courses]
    special += [place for _, places in cut for place in places]
    return [part for parts, _ in cut for part in parts], special


def _with_one_sense(
    instance: ClusteringInstance, line: Line, low: float, high: float
) -> tuple[list[Course], list[float | Fraction]]:
    if not line.product:
        return [make_course(instance, line, low, high)], []
    if line.origin is not None and line.total[1] != 0:
        special = [simplified(line.origin)] if low <= line.origin <= high else []
        return _ties_merged([make_course(instance, line, low, high)]), special
    turn = _turn(line)
    if turn is None or not low <= turn <= high:
        return _ties_merged([make_course(instance, line, low, high)]), []
    place = simplified(turn)
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


def _turn(line: Line) -> Fraction | None:
    """The t at which the order of products turns round.

    That is where the exponents sum to 0; if they always do, where all of them are 0.
    """
    total, slope = line.total
    return -total / slope if slope != 0 else line.origin
