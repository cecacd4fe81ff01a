"""Run the sweep and answer its questions.

The sweep returns leaves (an interval and a partition each) that overlap where the order of two
cluster pairs changes; `certune.families.linkage.assembly` makes a function of them.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.errors import UndecidedError
from certune.families.linkage.comparison import UNKNOWN, Comparison
from certune.families.linkage.course import Course
from certune.families.linkage.orders import order_on
from certune.families.linkage.points import point_codes, point_values
from certune.kernels import sweep as kernel
from certune.kernels.compare import HOPELESS
from certune.kernels.kinetic import follow
from certune.kernels.kinetic_start import room_for_records
from certune.kernels.panels import contract, panel_edges
from certune.kernels.series import AFFINE, MEAN, MOVING

CONTRACTION_MARGIN = 1e-13
# Zones of a change may fill this share of an interval; the second one if gaps stay wide.
WIDE_ZONE, STRICT_ZONE = 0.25, 0.05
_NO_VALUES = np.empty((0, 0))
MOST_HELD = 2**23  # numbers


@dataclass(frozen=True)
class Pruning:
    """What the kernels need to prune trees: objective, fixed-point reference, clusters."""

    objective: int
    reference: NDArray[np.int64]
    k: int


@dataclass(frozen=True)
class Leaves:
    """Result of a sweep; see `certune.kernels.sweep.sweep`.

    ``n_trees`` is the number of trees that were followed, if any were.
    """

    intervals: NDArray[np.float64]
    info: NDArray[np.int64]
    splits: NDArray[np.float64]
    split_marks: NDArray[np.uint8]
    partitions: NDArray[np.int64]
    tied_edges: frozenset[float]
    n_trees: int = 0


class _Room(threading.local):
    """Work space that a thread keeps for its next sweep, which then need not fetch pages anew.

    It comes from numpy, which asks for large pages.
    """

    def __init__(self) -> None:
        self._held = np.empty(0)

    def of_shape(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Work space with any content; the last one must not be in use any more."""
        size = math.prod(shape)
        if size > MOST_HELD:
            return np.empty(shape)
        if size > self._held.size:
            self._held = np.empty(size)
        return self._held[:size].reshape(shape)


_ROOM = _Room()


def start_from_duplicates(
    duplicate_of: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Merges of identical points, which come first for every parameter.

    Among pairs at distance zero the tie rule joins a group in the order of its indices.
    """
    n = len(duplicate_of)
    left = np.zeros(2 * n - 1, dtype=np.int64)
    right = np.zeros(2 * n - 1, dtype=np.int64)
    top = np.arange(n)
    copies = np.flatnonzero(duplicate_of != top)
    if not copies.size:
        return left, right, top
    made = 0
    for p in copies:
        group = duplicate_of[p]
        left[n + made] = top[group]
        right[n + made] = p
        top[group] = n + made
        made += 1
    _, labels = np.unique(duplicate_of, return_inverse=True)
    return left, right, np.ascontiguousarray(labels.astype(np.int64))


class _Patience:
    """How many fruitless questions the exact layer tries to answer, at a place and in all.

    A place is what fruitless questions have in common. Narrower intervals there get a few more
    tries, since the reason of the failure may lie outside of them.
    """

    MOST_AT_PLACE = 16
    MORE_WHEN_HALVED = 4
    MOST_IN_ALL = 512
    MOST_NARROW_ZONES = 32  # fruitless or not

    def __init__(self) -> None:
        self._narrow_zones = 0
        self._in_all = 0
        self._at_place = 0
        self._place = math.inf, -math.inf
        self._width = 0.0

    @property
    def ended(self) -> bool:
        """Is every further question left unanswered?"""
        return self._in_all >= self.MOST_IN_ALL

    def lasts(self, low: float, high: float) -> bool:
        """Is a question about [low, high] still tried?"""
        if self._common(low, high) is None:
            return True
        halved = math.log2(self._width / (high - low)) if high - low < self._width else 0.0
        return self._at_place < self.MOST_AT_PLACE + self.MORE_WHEN_HALVED * halved

    def covers_narrow_zone(self) -> bool:
        """Is one more question about a zone in a narrow interval tried?"""
        self._narrow_zones += 1
        return self._narrow_zones <= self.MOST_NARROW_ZONES

    def failed(self, low: float, high: float) -> None:
        """Count a fruitless question about [low, high]."""
        self._in_all += 1
        common = self._common(low, high)
        if common is None:
            self._at_place, self._place, self._width = 1, (low, high), high - low
        else:
            self._at_place += 1
            self._place = common

    def _common(self, low: float, high: float) -> tuple[float, float] | None:
        """What an interval has in common with the place, unless they only touch."""
        common = max(low, self._place[0]), min(high, self._place[1])
        return common if common[0] < common[1] or common == self._place == (low, high) else None


def _sweep(
    course: Course, sweep_with: Callable[..., Any], ties: frozenset[float] = frozenset()
) -> Leaves:
    """Call the sweep, with an exact layer that answers its questions.

    At the ``ties`` an order may be that just inside an interval.  An exception in an answer cannot
    cross the kernel: it is kept, and raised afterwards.
    """
    question = np.zeros(4)
    members = np.zeros(course.n, dtype=np.uint8)
    patience = _Patience()
    tied_edges: set[float] = set()
    errors: list[BaseException] = []

    def answer() -> int:
        kind = int(question[0])
        at_end = kind in (kernel.AT_LOW_END, kernel.AT_HIGH_END)
        if errors or patience.ended:
            return UNKNOWN if at_end else HOPELESS
        low, high, expected = question[1:].tolist()
        if not patience.lasts(low, high):
            return UNKNOWN
        try:
            check_time()
            if kind == kernel.NARROW_ZONE:
                if not patience.covers_narrow_zone():
                    return UNKNOWN
            if at_end:
                tied_edges.add(low if kind == kernel.AT_LOW_END else high)
            comparison = Comparison(course.instance, course.line, members.copy())
            if kind in (kernel.IDENTITY, kernel.NARROW_ZONE):
                inside = low in ties, high in ties
                order = order_on(course, comparison, low, high, inside)
                found = order.before
                tied_edges.update(
                    t for t, tied in zip((low, high), order.tied, strict=True) if tied
                )
                if order.zone is not None:
                    question[1:] = (*order.zone, found)
                    return kernel.CROSSES
            elif kind == kernel.AT_POINT:
                found = comparison.at(course.position)
            else:
                found = comparison.on(
                    low,
                    high,
                    low_end=kind == kernel.AT_LOW_END,
                    high_end=kind == kernel.AT_HIGH_END,
                )
            if found == UNKNOWN or (at_end and found != expected):
                patience.failed(low, high)
                return UNKNOWN
            return found
        except BaseException as error:
            errors.append(error)
            return HOPELESS

    oracle = ctypes.CFUNCTYPE(ctypes.c_int64)(answer)
    address = ctypes.cast(oracle, ctypes.c_void_p).value
    intervals, info, splits, marks, partitions = sweep_with(address, question, members)
    if errors:
        raise errors[0]
    return Leaves(intervals, info, splits, marks, partitions, frozenset(tied_edges))


def solve_at(
    course: Course, pruning: Pruning
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Tree (left, right) and labels at the one parameter ``course.low``."""
    left, right, labels = start_from_duplicates(course.instance.duplicate_of)
    n_made = course.n - int(labels.max()) - 1
    values, ascending, error = point_values(course)
    leaves = _sweep(
        course,
        lambda *oracle: kernel.sweep(
            course.kind,
            course.mode,
            course.first,
            course.second,
            0.0,
            course.power,
            -1.0 if ascending else 1.0,
            course.input_error,
            point_codes(course),
            course.ordered,
            np.array([[course.low, course.low]]),
            np.zeros((1, 2), dtype=np.bool_),
            values,
            error,
            labels,
            left,
            right,
            n_made,
            pruning.objective,
            pruning.reference,
            pruning.k,
            STRICT_ZONE,
            *oracle,
        ),
    )
    if leaves.info[0, 2] < 0:
        alpha = ", ".join(f"{value + slope * course.low!r}" for value, slope in course.line.alpha)
        raise UndecidedError(
            f"a comparison of cluster pairs at alpha = {alpha} could not be decided exactly"
        )
    return left, right, leaves.partitions[leaves.info[0, 2]]


def sweep_course(
    course: Course,
    pruning: Pruning,
    special: Sequence[float],
    wide_zone: float = WIDE_ZONE,
    followed: bool = False,
) -> list[Leaves]:
    """All leaves along the course; ``special`` points and the ends may be exact ties.

    If it may be ``followed``, the tree is mended along the segment where that is possible, and only
    what is left is swept.
    """
    left, right, labels = start_from_duplicates(course.instance.duplicate_of)
    low_end, high_end = course.ends
    n_made = contract(
        course.kind,
        low_end,
        high_end,
        CONTRACTION_MARGIN + 4 * course.input_error,
        left,
        right,
        labels,
    )
    if n_made == course.n - 1:
        raise AssertionError("contraction leaves at least two clusters")
    panels = _neighbours(_edges(course, labels, special))
    functions = (
        course.kind,
        course.mode,
        course.first,
        course.second,
        float(course.first.mean()) if course.mode == AFFINE else 0.0,
        course.power,
        course.span,
        course.input_error,
        course.codes,
        course.ordered,
    )
    start = (labels, left, right, n_made)
    prunings = (pruning.objective, pruning.reference, pruning.k)
    ties = np.array([course.low, *special, course.high])
    found = []
    if followed and (course.mode != MOVING or course.kind == MEAN):
        intervals, info, splits, marks, partitions, left_over, n_trees = follow(
            *functions,
            panels,
            _among(panels, ties),
            *start,
            *prunings,
            _ROOM.of_shape(room_for_records(course.n - n_made)),
            *course.meetings[0][:2],
            *course.meetings[1][:2],
        )
        tied = frozenset(
            end
            for end, meeting in zip((course.low, course.high), course.meetings, strict=True)
            if meeting.codes.size and meeting.place == end
        )
        found.append(Leaves(intervals, info, splits, marks, partitions, tied, n_trees))
        panels = _joined(left_over, panels[1:, 0])
    if len(panels):
        found.append(
            _sweep(
                course,
                lambda *oracle: kernel.sweep(
                    *functions,
                    panels,
                    _among(panels, ties),
                    _NO_VALUES,
                    0.0,
                    *start,
                    *prunings,
                    wide_zone,
                    *oracle,
                ),
                frozenset(ties.tolist()),
            )
        )
    for leaves in found:
        intervals = leaves.intervals
        intervals[intervals[:, 0] == course.low, 0] = course.reach[0]
        intervals[intervals[:, 1] == course.high, 1] = course.reach[1]
    return found


def _edges(
    course: Course, labels: NDArray[np.int64], special: Sequence[float]
) -> NDArray[np.float64]:
    tolerance = _panel_tolerance(course, int(labels.max()) + 1)
    inside = {*special, *course.edges}
    stops = [course.low, *sorted(t for t in inside if course.low < t < course.high), course.high]
    parts = [
        panel_edges(
            course.mode,
            course.first,
            course.second,
            labels,
            course.power,
            a,
            b,
            course.input_error,
            tolerance,
        )
        for a, b in pairwise(stops)
    ]
    # The last edge of a part is the first one of the next.
    return np.concatenate([part[:-1] for part in parts[:-1]] + parts[-1:])


def _panel_tolerance(course: Course, clusters: int) -> float:
    """Model error that panels may have.

    Wide panels are few; but zones of changes as wide as the errors meet each other, the more often
    the more clusters there are, and along product segments orders change all the time.
    """
    if course.mode == AFFINE:
        return 1e-11
    return min(1e-5, 2.0 / clusters**3)


def _among(panels: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which ends of the panels are one of the points (`np.isin` takes longer for so few)."""
    return np.asarray((panels[..., None] == points).any(axis=-1))


def _joined(panels: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Panels with neighbours made one, unless they meet at an edge.

    What a tie leaves over is swept once, not in the many steps in which it was tried to follow it.
    """
    if not len(panels):
        return panels
    apart = (panels[1:, 0] != panels[:-1, 1]) | _among(panels[1:, 0], edges)
    starts = np.concatenate(([True], apart))
    stops = np.concatenate((apart, [True]))
    return np.stack((panels[starts, 0], panels[stops, 1]), axis=1)


def _neighbours(edges: NDArray[np.float64]) -> NDArray[np.float64]:
    panels = np.empty((len(edges) - 1, 2))
    panels[:, 0] = edges[:-1]
    panels[:, 1] = edges[1:]
    return panels
