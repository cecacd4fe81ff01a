"""Cut courses of products where an exponent vanishes and many values meet.

There all pairs of points that agree in the other metrics have the same value; what that does to the
order beside it is the business of ``native/linkage/following/meetings.h``.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from certune.families.linkage.course import NO_MEETING, Course, Meeting, restricted
from certune.families.linkage.lines import floats_around, simplified
from certune.kernels.linkage import AFFINE

MANY_SHARE = 2.0  # pairs per value that make it worth while to cut a course


def cut_at_meetings(course: Course) -> tuple[list[Course], list[float | Fraction]]:
    """Parts of a course that end where values meet, and the places inside of it."""
    if course.mode != AFFINE:
        return [course], []
    parts, places = list[Course](), list[float | Fraction]()
    low, start = course.low, NO_MEETING
    zeros = {-value / slope for value, slope in course.line.exact_alpha if slope != 0}
    for zero in sorted(zeros):
        place = simplified(zero)
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
