"""From kernels to pieces: run the sweep, answer its questions, assemble the exact function.

The sweep returns leaves (an interval and a partition each) that overlap where the order of two
cluster pairs changes.  Where overlapping leaves agree on the utility nothing happens; elsewhere
the change is polished to full precision and becomes the gap between two pieces.
"""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.deadline import check_time
from certune.dual import PiecewiseFunction
from certune.errors import UndecidedError
from certune.exact.dyadics import holds_simple, is_simple, simplest
from certune.families.linkage.comparison import UNKNOWN, Comparison
from certune.families.linkage.course import Course
from certune.families.linkage.revision import (
    Window,
    cut_zones,
    narrow_zones,
    swept_again,
    window_around,
)
from certune.kernels import sweep as kernel
from certune.kernels.compare import HOPELESS
from certune.kernels.panels import contract, panel_edges
from certune.kernels.polish import envelope, leaf_bounds, polish_many
from certune.kernels.series import AFFINE, MOVING, UNIT

CONTRACTION_MARGIN = 1e-13
NARROW_GAP = 1e-9
# Zones of a change may fill this share of an interval; the second one if gaps stay wide.
WIDE_ZONE, STRICT_ZONE = 0.25, 0.05
_NO_VALUES = np.empty((0, 0))
_MOST_UNKNOWN = 16  # after that many fruitless questions of a kind, intervals stay undecided

Score = Callable[[NDArray[np.int64]], Fraction]
Ratio = tuple[int, int]  # numerator and denominator, in lowest terms


@dataclass(frozen=True)
class Pruning:
    """What the kernels need to prune trees: objective, fixed-point reference, clusters."""

    objective: int
    reference: NDArray[np.int64]
    k: int


@dataclass(frozen=True)
class Leaves:
    """Result of a sweep; see `certune.kernels.sweep.sweep`."""

    intervals: NDArray[np.float64]
    info: NDArray[np.int64]
    splits: NDArray[np.float64]
    split_marks: NDArray[np.uint8]
    partitions: NDArray[np.int64]
    tied_edges: frozenset[float]


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


def _sweep(course: Course, sweep_with: Callable[..., Any]) -> Leaves:
    """Call the sweep, with an exact layer that answers its questions.

    An exception in an answer cannot cross the kernel: it is kept, and raised afterwards.
    """
    question = np.zeros(4)
    members = np.zeros(course.n, dtype=np.uint8)
    fruitless: Counter[int] = Counter()
    tied_edges: set[float] = set()
    errors: list[BaseException] = []

    def answer() -> int:
        kind = int(question[0])
        at_end = kind in (kernel.AT_LOW_END, kernel.AT_HIGH_END)
        if errors or fruitless[kind] >= _MOST_UNKNOWN:
            return UNKNOWN if at_end else HOPELESS
        try:
            check_time()
            low, high, expected = (float(number) for number in question[1:])
            if at_end:
                tied_edges.add(low if kind == kernel.AT_LOW_END else high)
            comparison = Comparison(course.instance, course.line, members.copy())
            found = _order(comparison, kind, low, high)
            if found == UNKNOWN or (at_end and found != expected):
                fruitless[kind] += 1
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


def _order(comparison: Comparison, kind: int, low: float, high: float) -> int:
    """Order at a point or on an interval, as the kind of the question says."""
    if kind == kernel.AT_POINT:
        return comparison.at(low)
    return comparison.on(
        low, high, low_end=kind == kernel.AT_LOW_END, high_end=kind == kernel.AT_HIGH_END
    )


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
            course.instance.pair_codes,
            course.ordered,
            np.array([[course.low, course.low]]),
            np.zeros(2, dtype=np.bool_),
            labels,
            values,
            error,
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
        raise UndecidedError(
            f"a comparison of cluster pairs at t = {course.low!r} could not be decided exactly"
        )
    return left, right, leaves.partitions[leaves.info[0, 2]]


def point_values(course: Course) -> tuple[NDArray[np.float64], bool, float]:
    """Values of the pairs at ``course.low``, whether smaller is nearer, and a relative error."""
    t = course.low
    if course.mode == AFFINE:
        exponent = course.first + t * course.second
        exponent -= 0.5 * (exponent.max() + exponent.min())
        size = float(np.abs(course.first).max() + np.abs(t * course.second).max())
        total = sum(
            (Fraction(a) + Fraction(t) * Fraction(b) for a, b in course.line.alpha), Fraction(0)
        )
        return np.exp(exponent), total >= 0, course.input_error + 8 * UNIT * (1 + size)
    alpha = float(course.power[0] + course.power[1] * t)
    if course.mode == MOVING:
        raise AssertionError("a point has fixed distances")
    smallest, largest = _off_diagonal_range(course)
    error = course.input_error * (1 + abs(alpha)) + 8 * UNIT * (
        2 + abs(alpha) * (largest - smallest)
    )
    error += UNIT * (8 * course.n + 0.25 * course.n**2)
    if abs(alpha) * (1 + largest - smallest) < 0.5:
        logs = np.maximum(course.first - (smallest - 1.0), 1.0)
        y = alpha * logs
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = np.where(y == 0, 1.0, np.expm1(y) / y)
        return logs * quotient, True, error + 16 * UNIT
    logs = np.clip(course.first, smallest, largest) - 0.5 * (smallest + largest)
    return np.exp(alpha * logs), alpha > 0, error


def _off_diagonal_range(course: Course) -> tuple[float, float]:
    duplicate_of = course.instance.duplicate_of
    different = duplicate_of[:, None] != duplicate_of[None, :]
    if not different.any():
        return 0.0, 0.0
    values = course.first[different]
    return float(values.min()), float(values.max())


def sweep_course(
    course: Course, pruning: Pruning, special: Sequence[float], wide_zone: float = WIDE_ZONE
) -> Leaves:
    """All leaves along the course; ``special`` points and the ends may be exact ties."""
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
    edges = _edges(course, labels, special)
    tied = {course.low, *special, course.high}
    offset = float(np.median(course.first)) if course.mode == AFFINE else 0.0
    return _sweep(
        course,
        lambda *oracle: kernel.sweep(
            course.kind,
            course.mode,
            course.first,
            course.second,
            offset,
            course.power,
            course.span,
            course.input_error,
            course.instance.pair_codes,
            course.ordered,
            np.stack((edges[:-1], edges[1:]), axis=1),
            np.array([t in tied for t in edges.tolist()]),
            labels,
            _NO_VALUES,
            0.0,
            left,
            right,
            n_made,
            pruning.objective,
            pruning.reference,
            pruning.k,
            wide_zone,
            *oracle,
        ),
    )


def _edges(
    course: Course, labels: NDArray[np.int64], special: Sequence[float]
) -> NDArray[np.float64]:
    stops = [course.low, *(t for t in special if course.low < t < course.high), course.high]
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
        )
        for a, b in zip(stops, stops[1:], strict=False)
    ]
    return np.concatenate([part[:-1] for part in parts] + [[course.high]])


@dataclass
class _Pieces:
    starts: list[float]
    stops: list[float]
    ranks: list[int]
    gaps: list[tuple[int, int]]

    def add(self, start: float, stop: float, rank: int) -> None:
        """Append a piece."""
        self.starts.append(start)
        self.stops.append(stop)
        self.ranks.append(rank)


def assemble(
    courses: Sequence[Course],
    pruning: Pruning,
    score: Score,
    value_at: Callable[[float], Fraction],
    value_range: tuple[Fraction, Fraction],
    special: Sequence[float] = (),
    name: str = "t",
) -> PiecewiseFunction:
    """The exact utility along the courses (neighbours overlap by at most one rounding).

    ``value_at`` is the plain algorithm at one parameter; it decides at points that exact ties
    can single out: the ends, ``special`` points, and simple fractions inside a gap.
    """
    found, seen = sorted(special), set(special)
    strict, narrowed = list[Window](), set[Window]()
    leaves = [sweep_course(course, pruning, found) for course in courses]
    while True:
        scores = [[score(labels).as_integer_ratio() for labels in p.partitions] for p in leaves]
        ranking = _sorted_ratios(
            {*(v.as_integer_ratio() for v in value_range), *(v for part in scores for v in part)}
        )
        rank_of = {value: i for i, value in enumerate(ranking)}
        ranks = [[rank_of[value] for value in part] for part in scores]
        pieces, changed = _pieces(courses, leaves, ranks, len(ranking) - 1, seen)
        windows = _wide_windows(pieces, strict)
        if windows:
            strict += windows
            sweep = partial(sweep_course, pruning=pruning, special=found, wide_zone=STRICT_ZONE)
            courses, leaves = swept_again(courses, leaves, windows, sweep)
            continue
        parts = list(zip(courses, leaves, changed, strict=True))
        suspects = sorted(_unsettled_points(pieces) - seen)
        if not suspects:
            windows = [gap for gap in _open_gaps(pieces) if gap not in narrowed]
            if not windows:
                break
            for part, gap in product(parts, windows):
                narrow_zones(*part, gap)
            narrowed.update(windows)
            continue
        seen.update(suspects)
        tied = [t for t in suspects if not all(cut_zones(*part, t) for part in parts)]
        found = sorted({*found, *tied})
        sweep = partial(sweep_course, pruning=pruning, special=found)
        courses, leaves = swept_again(courses, leaves, map(window_around, tied), sweep)
    alone = {*found, *(t for part in leaves for t in part.tied_edges)}
    _single_out(pieces, alone, value_at, rank_of, ranking, courses[0].low, courses[-1].high)
    denominator = math.lcm(*(below for _, below in ranking))
    numerators = [above * (denominator // below) for above, below in ranking]
    return PiecewiseFunction(
        np.array(pieces.starts),
        np.array(pieces.stops),
        [numerators[i] for i in pieces.ranks],
        [numerators[i] for i, _ in pieces.gaps],
        [numerators[j] for _, j in pieces.gaps],
        denominator,
        name=name,
    )


def _sorted_ratios(ratios: set[Ratio]) -> list[Ratio]:
    """Fractions in lowest terms, in order; pairs of integers are faster than `Fraction`."""
    denominator = math.lcm(*(below for _, below in ratios))
    return sorted(ratios, key=lambda ratio: ratio[0] * (denominator // ratio[1]))


def _pieces(
    courses: Sequence[Course],
    leaves: Sequence[Leaves],
    ranks: Sequence[Sequence[int]],
    highest: int,
    special: set[float],
) -> tuple[_Pieces, list[NDArray[np.int64]]]:
    """Pieces and gaps of the leaves, and which splits changed the utility; these are polished."""
    positions, bottom, top = envelope(*_leaf_table(courses, leaves, ranks, highest))
    changed = _splits_behind_gaps(leaves, positions, bottom, top)
    for course, part, which in zip(courses, leaves, changed, strict=True):
        if which.size:
            polish_many(
                course.kind,
                course.mode,
                course.first,
                course.second,
                course.power,
                part.splits,
                part.split_marks,
                which,
                course.input_error,
            )
    if any(which.size for which in changed):
        positions, bottom, top = envelope(*_leaf_table(courses, leaves, ranks, highest))
    return _collect(positions, bottom, top, special), changed


def _wide_windows(pieces: _Pieces, tried: Sequence[Window]) -> list[Window]:
    """Neighbourhoods of the gaps that stayed wide, except those inside a window tried before."""
    return [
        (2.0 * stop - start, 2.0 * start - stop)
        for stop, start in zip(pieces.stops[:-1], pieces.starts[1:], strict=True)
        if start - stop > NARROW_GAP * max(1.0, abs(stop))
        and not any(low <= stop and start <= high for low, high in tried)
    ]


def _open_gaps(pieces: _Pieces) -> list[Window]:
    """Narrow gaps between known values in which the utility may leave the range of the two."""
    found = []
    for i, (least, most) in enumerate(pieces.gaps):
        low, high = sorted(pieces.ranks[i : i + 2])
        stop, start = pieces.stops[i], pieces.starts[i + 1]
        narrow = start - stop <= NARROW_GAP * max(1.0, abs(stop))
        if narrow and 0 <= low and (least < low or most > high):
            found.append((stop, start))
    return found


def _unsettled_points(pieces: _Pieces) -> set[float]:
    """Simple fractions inside gaps: where comparisons tie, it is usually exactly there.

    A sweep with an edge at such a point settles the order on both sides of it.
    """
    low, high = np.array(pieces.stops[:-1]), np.array(pieces.starts[1:])
    likely = np.flatnonzero(holds_simple(low, high)).tolist()
    points = (_nice_point(pieces.stops[i], pieces.starts[i + 1]) for i in likely)
    return {t for t in points if t is not None}


def _nice_point(low: float, high: float) -> float | None:
    """The simplest number strictly inside a narrow gap, if it is simple enough to be special."""
    if high - low > NARROW_GAP * max(1.0, abs(low)):
        return None
    t = simplest(low, high)
    return t if low < t < high and is_simple(t) else None


def _leaf_table(
    courses: Sequence[Course],
    leaves: Sequence[Leaves],
    ranks: Sequence[Sequence[int]],
    highest: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Intervals of all leaves, cut by the (polished) splits, and the ranks of their utilities."""
    lows, highs, least, most = [], [], [], []
    for course, part, own in zip(courses, leaves, ranks, strict=True):
        low, high = leaf_bounds(part.intervals, part.info, part.splits).T
        which = part.info[:, 2]
        by_partition = np.array([*own, -1], dtype=np.int64)
        lows.append(np.maximum(low, course.low))
        highs.append(np.minimum(high, course.high))
        least.append(np.where(which < 0, 0, by_partition[which]))
        most.append(np.where(which < 0, highest, by_partition[which]))
    return (
        np.concatenate(lows),
        np.concatenate(highs),
        np.concatenate(least),
        np.concatenate(most),
    )


def _splits_behind_gaps(
    leaves: Sequence[Leaves],
    positions: NDArray[np.float64],
    bottom: NDArray[np.int64],
    top: NDArray[np.int64],
) -> list[NDArray[np.int64]]:
    """Indices of the splits whose zone meets an interval where the utility is not settled."""
    unsettled = np.flatnonzero(bottom != top)
    starts, stops = positions[unsettled], positions[unsettled + 1]
    result = []
    for part in leaves:
        low, high = part.splits[:, 0], part.splits[:, 1]
        first = np.searchsorted(stops, low, side="right")
        meets = (first < len(starts)) & (high > np.append(starts, np.inf)[first])
        result.append(np.flatnonzero(meets))
    return result


def _collect(
    positions: NDArray[np.float64],
    bottom: NDArray[np.int64],
    top: NDArray[np.int64],
    special: set[float],
) -> _Pieces:
    """Closed pieces where the rank is settled, open gaps with rank bounds between them.

    The rank of a point that stands alone is -1 for now; `_single_out` finds its value.
    """
    pieces = _Pieces([], [], [], [])
    gap: tuple[int, int] | None = None
    places = positions.tolist()
    for i, (low, high) in enumerate(zip(bottom.tolist(), top.tolist(), strict=True)):
        if low == high:
            rank = low
            if pieces.ranks and gap is None and pieces.ranks[-1] == rank:
                pieces.stops[-1] = places[i + 1]
                continue
            start = places[i]
            if pieces.ranks and gap is None:
                if start not in special:
                    raise AssertionError(f"two trees at t = {start!r}")
                pieces.stops[-1] = math.nextafter(start, -math.inf)
                pieces.gaps.append((pieces.ranks[-1], pieces.ranks[-1]))
                pieces.add(start, start, -1)
                pieces.gaps.append((rank, rank))
                start = math.nextafter(start, math.inf)
            elif gap is not None:
                if not pieces.ranks:
                    pieces.add(places[0], places[0], -1)
                pieces.gaps.append(gap)
            pieces.add(start, places[i + 1], rank)
            gap = None
        elif gap is None:
            gap = (low, high)
        elif places[i] in special:
            if not pieces.ranks:
                pieces.add(places[0], places[0], -1)
            pieces.gaps.append(gap)
            pieces.add(places[i], places[i], -1)
            gap = (low, high)
        else:
            gap = (min(gap[0], low), max(gap[1], high))
    if gap is not None:
        if not pieces.ranks:
            pieces.add(places[0], places[0], -1)
        pieces.gaps.append(gap)
        pieces.add(places[-1], places[-1], -1)
    return pieces


def _single_out(
    pieces: _Pieces,
    special: set[float],
    value_at: Callable[[float], Fraction],
    rank_of: dict[Ratio, int],
    ranking: list[Ratio],
    low: float,
    high: float,
) -> None:
    """Insert the points whose utility the plain algorithm must say."""
    points = {t for t in special if low <= t <= high}
    points.update(_unsettled_points(pieces))
    for i, rank in enumerate(pieces.ranks):
        if rank < 0:
            points.add(pieces.starts[i])
    for t in sorted(points):
        value = value_at(t).as_integer_ratio()
        if value not in rank_of:
            # Keep ranks usable as indices: new values go to the end of the table.
            rank_of[value] = len(ranking)
            ranking.append(value)
        _insert(pieces, t, rank_of[value])


def _insert(pieces: _Pieces, t: float, rank: int) -> None:
    """Make [t, t] a piece of its own, unless the function has that value around it."""
    for i in range(len(pieces.starts)):
        if pieces.starts[i] == t == pieces.stops[i]:
            pieces.ranks[i] = rank
            return
        if pieces.starts[i] <= t <= pieces.stops[i]:
            if pieces.ranks[i] == rank:
                return
            before, after = math.nextafter(t, -math.inf), math.nextafter(t, math.inf)
            own = pieces.ranks[i]
            replacement = [
                (pieces.starts[i], before, own),
                (t, t, rank),
                (after, pieces.stops[i], own),
            ]
            kept = [entry for entry in replacement if entry[0] <= entry[1]]
            pieces.starts[i : i + 1] = [entry[0] for entry in kept]
            pieces.stops[i : i + 1] = [entry[1] for entry in kept]
            pieces.ranks[i : i + 1] = [entry[2] for entry in kept]
            pieces.gaps[i:i] = [(own, own)] * (len(kept) - 1)
            return
        if i + 1 < len(pieces.starts) and pieces.stops[i] < t < pieces.starts[i + 1]:
            pieces.starts.insert(i + 1, t)
            pieces.stops.insert(i + 1, t)
            pieces.ranks.insert(i + 1, rank)
            pieces.gaps.insert(i, pieces.gaps[i])
            return
