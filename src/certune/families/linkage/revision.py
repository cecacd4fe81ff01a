"""Second looks at places where a sweep left the utility open.

Distances that are rounded square roots of integers nearly tie at alpha = 2: many changes of order
lie within a few roundings of a simple fraction.  Where none of them is exactly there, the exact
layer says on which side each one is, and tells overlapping zones of several changes apart.  Where
one is, or where the order stayed unknown, a window around the place is swept again and takes the
place of what was known there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.families.linkage.comparison import Comparison
from certune.families.linkage.course import Course

if TYPE_CHECKING:
    from certune.families.linkage.sweeping import Leaves

WINDOW = 2.0**-20  # half width of a window around a point, relative to max(1, |t|)

Window = tuple[float, float]


def cut_zones(course: Course, leaves: Leaves, which: NDArray[np.int64], t: float) -> bool:
    """Cut those zones among ``which`` that hold t at t, in place.

    Returns False if an order at t is tied or unknown, so that the zones cannot tell the sides.
    """
    if not course.low <= t <= course.high:
        return True
    if _unknown_inside(leaves, (t, t)):
        return False
    splits = leaves.splits
    for s in which[(splits[which, 0] < t) & (t < splits[which, 1])].tolist():
        check_time()
        low, high, order_left = splits[s, :3].tolist()
        comparison = Comparison(course.instance, course.line, leaves.split_marks[s])
        order = comparison.at(t)
        if order == order_left and comparison.on(low, t) == order_left:
            splits[s, 0] = t
        elif order == -order_left and comparison.on(t, high) == -order_left:
            splits[s, 1] = t
        else:
            return False
    return True


def _unknown_inside(leaves: Leaves, window: Window) -> bool:
    """Is there a leaf without a tree that meets the window?"""
    unknown = leaves.intervals[leaves.info[:, 2] < 0]
    return bool(np.any((unknown[:, 0] <= window[1]) & (window[0] <= unknown[:, 1])))


def narrow_zones(course: Course, leaves: Leaves, which: NDArray[np.int64], window: Window) -> None:
    """Narrow those zones among ``which`` that meet a window to neighbouring floats, in place.

    Signs at points find the change; two proofs on intervals then say that it is the only one.
    Nothing is done where a leaf without a tree leaves the utility open anyway.
    """
    if _unknown_inside(leaves, window):
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


def window_around(t: float) -> Window:
    """Neighbourhood of a point that is swept again, with an edge at the point."""
    reach = WINDOW * max(1.0, abs(t))
    return t - reach, t + reach


def swept_again(
    courses: Sequence[Course],
    leaves: Sequence[Leaves],
    windows: Iterable[Window],
    sweep: Callable[[Course], Leaves],
) -> tuple[list[Course], list[Leaves]]:
    """Courses and leaves with new ones inside the windows; the old ones end at a window."""
    parts = list(zip(courses, leaves, strict=True))
    for window in windows:
        kept = []
        for course, part in parts:
            low, high = max(course.low, window[0]), min(course.high, window[1])
            if not low < high:
                kept.append((course, part))
                continue
            inside = replace(course, low=low, high=high)
            if course.low < low:
                kept.append((replace(course, high=low), part))
            kept.append((inside, sweep(inside)))
            if high < course.high:
                kept.append((replace(course, low=high), part))
        parts = kept
    return [course for course, _ in parts], [part for _, part in parts]
