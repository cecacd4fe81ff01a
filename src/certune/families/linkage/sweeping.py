"""Search the trees along a course and answer the questions that floats cannot.

A search returns leaves (an interval and a partition each) that overlap where the order of two
cluster pairs changes; `certune.families.linkage.assembly` makes a function of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.errors import UndecidedError
from certune.families.linkage.comparison import Comparison
from certune.families.linkage.course import Course
from certune.families.linkage.orders import order_on
from certune.families.linkage.points import point_codes, point_values
from certune.families.metrics import read_only
from certune.kernels import linkage as kernel
from certune.kernels.linkage import HOPELESS, UNKNOWN, Merges, Pruning, Values

CONTRACTION_MARGIN = 1e-13
ENERGY_TOLERANCE = 1e-9
# Zones of a change may fill this share of an interval; the second one if gaps stay wide.
WIDE_ZONE, STRICT_ZONE = 0.25, 0.05

# Intervals narrower than this, relative to max(1, |t|), may be looked at closely.
NARROW = 1e-9

Engine = Literal["follow", "search"]


class Manner(NamedTuple):
    """How a course is swept: by which engine, and whether near ties are left to a closer look."""

    engine: Engine
    leaves_near_ties: bool = False


SEARCHED = Manner("search")


def is_narrow(low: float, high: float) -> bool:
    """Is an interval so narrow that changes of order in it nearly coincide?"""
    return high - low <= NARROW * max(1.0, abs(low))


@dataclass(frozen=True)
class Leaves:
    """Result of a search; see `certune.kernels.linkage.Leaves`.

    At the ``tied_edges`` exact orders were asked for, which may be ties; ``n_trees`` is the number
    of trees that were followed, if any were.
    """

    intervals: NDArray[np.float64]
    info: NDArray[np.int64]
    splits: NDArray[np.float64]
    split_marks: NDArray[np.uint8]
    partitions: NDArray[np.int64]
    tied_edges: frozenset[float]
    n_trees: int = 0


def start_from_duplicates(duplicate_of: NDArray[np.int64]) -> Merges:
    """Merges of identical points, which come first for every parameter.

    Among pairs at distance zero the tie rule joins a group in the order of its indices.
    """
    n = len(duplicate_of)
    copies = np.flatnonzero(duplicate_of != np.arange(n))
    if not copies.size:
        return _no_merges(n)
    left = np.zeros(2 * n - 1, dtype=np.int64)
    right = np.zeros(2 * n - 1, dtype=np.int64)
    top = np.arange(n)
    made = 0
    for p in copies:
        group = duplicate_of[p]
        left[n + made] = top[group]
        right[n + made] = p
        top[group] = n + made
        made += 1
    labels = np.unique(duplicate_of, return_inverse=True)[1]
    return Merges(labels.astype(np.int64), left, right, made)


@lru_cache(maxsize=8)
def _no_merges(n: int) -> Merges:
    """Merges of n points of which none are identical; read-only, as several runs share them."""
    nothing = read_only(np.zeros(2 * n - 1, dtype=np.int64))
    return Merges(read_only(np.arange(n)), nothing, nothing, 0)


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


class _ExactLayer:
    """Answers the questions of one search.

    At the ``ties`` an order may be that just inside an interval. With ``leaves_near_ties`` no
    question about a narrow interval is answered: it is looked at closely later on.
    """

    def __init__(
        self,
        course: Course,
        ties: frozenset[float] = frozenset(),
        leaves_near_ties: bool = False,
    ) -> None:
        self._course = course
        self._ties = ties
        self._leaves_near_ties = leaves_near_ties
        self._patience = _Patience()
        self.tied_edges: set[float] = set()

    def __call__(
        self, kind: int, low: float, high: float, expected: int, marks: NDArray[np.uint8]
    ) -> int | tuple[float, float, int]:
        """Order of the marked cluster pairs, or where it changes; see `kernel.Answering`."""
        at_end = kind in (kernel.AT_LOW_END, kernel.AT_HIGH_END)
        if self._patience.ended:
            return UNKNOWN if at_end else HOPELESS
        if self._leaves_near_ties and low < high and is_narrow(low, high):
            return UNKNOWN if at_end else HOPELESS
        if not self._patience.lasts(low, high):
            return UNKNOWN
        check_time()
        if kind == kernel.NARROW_ZONE and not self._patience.covers_narrow_zone():
            return UNKNOWN
        if at_end:
            self.tied_edges.add(low if kind == kernel.AT_LOW_END else high)
        comparison = Comparison(self._course.instance, self._course.line, marks)
        if kind in (kernel.ON_INTERVAL, kernel.NARROW_ZONE):
            inside = low in self._ties, high in self._ties
            order = order_on(self._course, comparison, low, high, inside)
            found = order.before
            self.tied_edges.update(
                t for t, tied in zip((low, high), order.tied, strict=True) if tied
            )
            if order.zone is not None:
                return (*order.zone, found)
        elif kind == kernel.AT_POINT:
            found = comparison.at(self._course.position)
        else:
            found = comparison.on(
                low,
                high,
                low_end=kind == kernel.AT_LOW_END,
                high_end=kind == kernel.AT_HIGH_END,
            )
        if found == UNKNOWN or (at_end and found != expected):
            self._patience.failed(low, high)
            return UNKNOWN
        return found


def solve_at(
    course: Course, pruning: Pruning
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Tree (left, right) and labels at the one parameter ``course.low``."""
    merges = start_from_duplicates(course.instance.duplicate_of)
    numbers, ascending, error = point_values(course)
    pairs = course.pair_functions.with_codes(point_codes(course))
    values = Values(course.kind, pairs, 0.0, -1.0 if ascending else 1.0)
    at = course.low, numbers, error
    exact = kernel.Layers(_ExactLayer(course), course.near_alpha)
    found = kernel.solve_at(values, merges, pruning, at, exact)
    if found is None:
        alpha = ", ".join(f"{value + slope * course.low!r}" for value, slope in course.line.alpha)
        raise UndecidedError(
            f"a comparison of cluster pairs at alpha = {alpha} could not be decided exactly"
        )
    return found


def sweep_course(
    course: Course,
    pruning: Pruning,
    special: Sequence[float],
    wide_zone: float = WIDE_ZONE,
    manner: Manner = SEARCHED,
) -> list[Leaves]:
    """All leaves along the course; ``special`` points and the ends may be exact ties.

    With the engine "follow" the tree is mended along the segment where that is possible, and only
    what is left is searched. Both engines prove the same trees.
    """
    merges = _certain_merges(course)
    if merges.n_made == course.n - 1:
        raise AssertionError("contraction leaves at least two clusters")
    looks_inside = course.kind == kernel.ENERGY or pruning.objective in kernel.PLAIN_CUTS
    modelled = course.instance.duplicate_of if looks_inside else merges.labels
    n_modelled = course.instance.n_distinct if looks_inside else course.n - merges.n_made
    panels = _neighbours(_edges(course, modelled, n_modelled, special))
    offset = float(course.first.mean()) if course.mode == kernel.AFFINE else 0.0
    values = Values(course.kind, course.pair_functions, offset, course.span)
    ties = np.array([course.low, *special, course.high])
    leaves = []
    if manner.engine == "follow" and _can_be_followed(course, pruning):
        found, left_over, n_trees = kernel.follow(
            values,
            merges,
            pruning,
            (panels, _among(panels, ties)),
            (kernel.Meeting(*course.meetings[0][:2]), kernel.Meeting(*course.meetings[1][:2])),
        )
        tied = frozenset(
            end
            for end, meeting in zip((course.low, course.high), course.meetings, strict=True)
            if meeting.codes.size and meeting.place == end
        )
        leaves.append(Leaves(*found, tied, n_trees))
        panels = _joined(left_over, panels[1:, 0])
    if len(panels):
        exact = _ExactLayer(course, frozenset(ties.tolist()), manner.leaves_near_ties)
        searched = (panels, _among(panels, ties))
        layers = kernel.Layers(exact, course.near_alpha)
        found = kernel.search(values, merges, pruning, searched, wide_zone, layers)
        leaves.append(Leaves(*found, frozenset(exact.tied_edges)))
    for part in leaves:
        intervals = part.intervals
        intervals[intervals[:, 0] == course.low, 0] = course.reach[0]
        intervals[intervals[:, 1] == course.high, 1] = course.reach[1]
    return leaves


def _can_be_followed(course: Course, pruning: Pruning) -> bool:
    averages_or_fixed = course.mode != kernel.MOVING or course.kind == kernel.MEAN
    is_pruned = pruning.objective not in kernel.PLAIN_CUTS
    return averages_or_fixed and course.kind != kernel.ENERGY and is_pruned


def _certain_merges(course: Course) -> Merges:
    """Merges that hold all along the course.

    Of energies only identical points: what is nearest depends on distances within clusters.
    """
    duplicates = start_from_duplicates(course.instance.duplicate_of)
    if course.kind == kernel.ENERGY:
        return duplicates
    margin = CONTRACTION_MARGIN + 4 * course.input_error
    return kernel.contract(course.kind, course.ends, margin, duplicates)


def _edges(
    course: Course, labels: NDArray[np.int64], n_labels: int, special: Sequence[float]
) -> NDArray[np.float64]:
    """Edges of panels on which pairs of points with different labels have accurate models."""
    tolerance = _panel_tolerance(course, n_labels)
    inside = {*special, *course.edges}
    stops = [course.low, *sorted(t for t in inside if course.low < t < course.high), course.high]
    pairs = course.pair_functions
    parts = [kernel.panel_edges(pairs, labels, a, b, tolerance) for a, b in pairwise(stops)]
    if len(parts) == 1:
        return parts[0]
    # The last edge of a part is the first one of the next.
    return np.concatenate([part[:-1] for part in parts[:-1]] + parts[-1:])


def _panel_tolerance(course: Course, clusters: int) -> float:
    """Model error that panels may have.

    Wide panels are few; but zones of changes as wide as the errors meet each other, the more often
    the more clusters there are, and along product segments orders change all the time.
    """
    if course.mode == kernel.AFFINE:
        return 1e-11
    if course.kind == kernel.ENERGY:
        return ENERGY_TOLERANCE  # most of the means cancels
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
