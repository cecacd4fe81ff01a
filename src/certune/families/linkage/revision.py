"""Second looks at places where a sweep left the utility open.

Distances that are rounded square roots of integers nearly tie at alpha = 2: many changes of order
lie within a few roundings of a simple fraction.  Where none of them is exactly there, the exact
layer says on which side each one is, and tells overlapping zones of several changes apart.  Where
one is, or where the order stayed unknown, a window around the place is swept again and takes the
place of what was known there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.families.linkage.comparison import Comparison
from certune.families.linkage.course import Course, restricted
from certune.families.linkage.sweeping import SEARCHED, WIDE_ZONE, Leaves, Manner, sweep_course
from certune.kernels.linkage import Pruning

WINDOW = 2.0**-20  # half width of a window around a point, relative to max(1, |t|)

Window = tuple[float, float]


@dataclass(frozen=True)
class Part:
    """Leaves along a course, and where they count: outside of windows that were swept again.

    Parts of the same course are neighbours in a list, hold one `Course` object and count in the
    same ranges; each covers only some panels of it.
    """

    course: Course
    leaves: Leaves
    ranges: tuple[Window, ...]

    def counts_in(self, window: Window) -> bool:
        """Do the leaves say anything about a point of the window?"""
        return any(low <= window[1] and window[0] <= high for low, high in self.ranges)


def swept(
    course: Course,
    pruning: Pruning,
    special: Sequence[float],
    wide_zone: float = WIDE_ZONE,
    manner: Manner = SEARCHED,
) -> list[Part]:
    """The parts that a sweep of the course gives; see `sweep_course`."""
    ranges = (course.reach,)
    found = sweep_course(course, pruning, special, wide_zone, manner)
    return [Part(course, leaves, ranges) for leaves in found]


def cut_zones(part: Part, which: NDArray[np.int64], t: float) -> bool:
    """Cut those zones among ``which`` that hold t or end there at t, in place.

    Returns False if an order at t is tied or unknown, so that the zones cannot tell the sides.
    """
    course, leaves = part.course, part.leaves
    if not part.counts_in((t, t)):
        return True
    if _unknown_inside(leaves, (t, t)):
        return False
    splits = leaves.splits
    for s in which[(splits[which, 0] <= t) & (t <= splits[which, 1])].tolist():
        check_time()
        low, high, order_left = splits[s, :3].tolist()
        if low == high:
            continue
        comparison = Comparison(course.instance, course.line, leaves.split_marks[s])
        order = comparison.at(t)
        if order == order_left and (t == low or comparison.on(low, t) == order_left):
            splits[s, 0] = t
        elif order == -order_left and (t == high or comparison.on(t, high) == -order_left):
            splits[s, 1] = t
        else:
            return False
    return True


def _unknown_inside(leaves: Leaves, window: Window) -> bool:
    """Is there a leaf without a tree that meets the window?"""
    unknown = leaves.intervals[leaves.info[:, 2] < 0]
    return bool(np.any((unknown[:, 0] <= window[1]) & (window[0] <= unknown[:, 1])))


def narrow_zones(part: Part, which: NDArray[np.int64], window: Window) -> None:
    """Narrow those zones among ``which`` that meet a window to neighbouring floats, in place.

    Signs at points find the change; two proofs on intervals then say that it is the only one.
    Nothing is done where a leaf without a tree leaves the utility open anyway.
    """
    course, leaves = part.course, part.leaves
    if not part.counts_in(window) or _unknown_inside(leaves, window):
        return
    splits = leaves.splits
    for s in which[(splits[which, 0] < window[1]) & (window[0] < splits[which, 1])].tolist():
        check_time()
        low, high, order_left = splits[s, :3].tolist()
        comparison = Comparison(course.instance, course.line, leaves.split_marks[s])
        before, after = low, high
        while before < (middle := 0.5 * (before + after)) < after:
            order = comparison.at(middle)
            if order == order_left:
                before = middle
            elif order == -order_left:
                after = middle
            else:
                break
        if before > low and comparison.on(low, before) == order_left:
            splits[s, 0] = before
        if after < high and comparison.on(after, high) == -order_left:
            splits[s, 1] = after


def windows_around(points: Sequence[float]) -> list[Window]:
    """Neighbourhoods of points in order that are swept again, with edges at the points.

    Those that meet are one.
    """
    found: list[Window] = []
    for t in points:
        reach = WINDOW * max(1.0, abs(t))
        low, high = t - reach, t + reach
        if found and low <= found[-1][1]:
            low = found.pop()[0]
        found.append((low, high))
    return found


def swept_again(
    parts: Sequence[Part], windows: Iterable[Window], sweep: Callable[[Course], list[Part]]
) -> list[Part]:
    """Parts with new ones inside the windows, where the old ones no longer count."""
    result = list(parts)
    for window in windows:
        groups = [list(group) for _, group in groupby(result, key=lambda part: id(part.course))]
        result = [part for group in groups for part in _replaced(group, window, sweep)]
    return result


def _replaced(
    parts: list[Part], window: Window, sweep: Callable[[Course], list[Part]]
) -> list[Part]:
    """The parts of one course outside the window, and new parts inside it."""
    outside, inside = list[Window](), list[Window]()
    for low, high in parts[0].ranges:
        start, stop = max(low, window[0]), min(high, window[1])
        if start < stop:
            inside.append((start, stop))
            outside += [end for end in ((low, start), (stop, high)) if end[0] < end[1]]
        else:
            outside.append((low, high))
    if not inside:
        return parts
    kept = [replace(part, ranges=tuple(outside)) for part in parts if outside]
    course = parts[0].course
    return kept + [part for ends in inside for part in sweep(restricted(course, *ends))]
