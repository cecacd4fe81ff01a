"""From leaves to pieces: score the partitions, polish the changes, assemble the exact function.

Leaves of a sweep overlap where the order of two cluster pairs changes.  Where overlapping leaves
agree on the utility nothing happens; elsewhere the change is polished to full precision and becomes
the gap between two pieces.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.dual import PiecewiseFunction
from certune.dual.integers import integer_array
from certune.dual.pieces import Pieces
from certune.exact.dyadics import SIMPLE_BITS, holds_simple, is_simple, simplest
from certune.families.linkage.course import Course
from certune.families.linkage.lines import floats_around
from certune.families.linkage.revision import (
    Part,
    Window,
    cut_zones,
    narrow_zones,
    swept,
    swept_again,
    windows_around,
)
from certune.families.linkage.sweeping import STRICT_ZONE, Engine, Manner, is_narrow
from certune.families.linkage.utility import IntegerRatios
from certune.kernels.linkage import (
    Pruning,
    envelope,
    joined,
    polish,
    ranked_leaves,
    unsettled_splits,
)

# Up to so many intervals are looked at one by one, which takes less time than arrays do.
FEW = 16

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass
class _Pieces:
    """Closed pieces, and bounds in the open gaps between them: ranks, in the end numerators."""

    starts: list[float]
    stops: list[float]
    values: list[int]
    gaps: list[tuple[int, int]]

    def add(self, start: float, stop: float, value: int) -> None:
        """Append a piece."""
        self.starts.append(start)
        self.stops.append(stop)
        self.values.append(value)


class Looking(NamedTuple):
    """How the function of a line is found.

    Attributes
    ----------
    engine : {"follow", "search"}
        That of the first sweep.
    closer : callable, optional
        Finds the function on a narrow interval where changes nearly coincide; None if it cannot.
    name : str
        Of the coordinate.
    """

    engine: Engine = "follow"
    closer: Callable[[float, float], PiecewiseFunction | None] | None = None
    name: str = "t"


FOLLOWED = Looking()


def assemble(
    courses: Sequence[Course],
    pruning: Pruning,
    scores: Callable[[Integers], IntegerRatios],
    value_at: Callable[[float | Fraction], Fraction],
    value_range: tuple[Fraction, Fraction],
    special: Sequence[float | Fraction] = (),
    looking: Looking = FOLLOWED,
) -> PiecewiseFunction:
    """The exact utility along the courses, which overlap in a few neighbouring floats at most.

    ``scores`` gives the utilities of partitions, the rows of an array.  ``value_at`` is the plain
    algorithm at one parameter; it decides at points that exact ties can single out: the ends,
    ``special`` points, and simple fractions inside a gap.  A special point that is no float lies in
    a gap between its neighbours.
    """
    found = sorted(t for t in special if isinstance(t, float))
    seen = set(found)
    strict, narrowed = list[Window](), set[Window]()
    closely: dict[Window, PiecewiseFunction | None] = {}
    manner = Manner(looking.engine, leaves_near_ties=looking.closer is not None)
    parts = [part for course in courses for part in swept(course, pruning, found, manner=manner)]
    manner = manner._replace(engine="search")
    while True:
        ranking, denominator, ranks = _ranked(scores(_partitions(parts)), value_range)
        pieces, changed = _pieces(parts, ranks, len(ranking) - 1, seen)
        looks = list(zip(parts, changed, strict=True))
        if windows := _wide_windows(pieces, strict):
            strict += windows
            sweep = partial(
                swept, pruning=pruning, special=found, wide_zone=STRICT_ZONE, manner=manner
            )
            parts = swept_again(parts, windows, sweep)
        elif looking.closer is not None and (
            windows := [gap for gap in _unclear_gaps(pieces) if gap not in closely]
        ):
            closely.update((gap, looking.closer(*gap)) for gap in windows)
        elif suspects := sorted(_unsettled_points(pieces, closely) - seen):
            seen.update(suspects)
            tied = [t for t in suspects if not all(cut_zones(*look, t) for look in looks)]
            found = sorted({*found, *tied})
            sweep = partial(swept, pruning=pruning, special=found)
            parts = swept_again(parts, windows_around(tied), sweep)
        elif windows := [
            gap for gap in _open_gaps(pieces) if gap not in narrowed and not closely.get(gap)
        ]:
            narrowed.update(windows)
            for look, gap in product(looks, windows):
                narrow_zones(*look, gap)
        else:
            break
    low, high = courses[0].low, courses[-1].high
    alone = {*special, *found, *_unsettled_points(pieces, closely)}
    alone.update(t for t, rank in zip(pieces.starts, pieces.values, strict=True) if rank < 0)
    alone.update(*(part.leaves.tied_edges for part in parts), _likely_ties(parts))
    alone = {t for t in alone if low <= t <= high}
    singles = {t: value_at(t) for t in sorted(alone)}
    seen_closely = [function for function in closely.values() if function is not None]
    whole = math.lcm(
        denominator,
        *(value.denominator for value in singles.values()),
        *(function.denominator for function in seen_closely),
    )
    numerators = [top * (whole // denominator) for top in ranking]
    pieces.values = [numerators[rank] for rank in pieces.values]
    pieces.gaps = [(numerators[least], numerators[most]) for least, most in pieces.gaps]
    for function in seen_closely:
        _fill_gap(pieces, function, whole)
    for t, value in singles.items():
        _insert(pieces, t, _numerator(value, whole))
    return _function(pieces, whole, looking.name)


def _function(pieces: _Pieces, denominator: int, name: str) -> PiecewiseFunction:
    return PiecewiseFunction._of(
        Pieces(
            np.array(pieces.starts) + 0.0,
            np.array(pieces.stops) + 0.0,
            integer_array(pieces.values),
            integer_array([least for least, _ in pieces.gaps]),
            integer_array([most for _, most in pieces.gaps]),
            denominator,
        ),
        name,
    )


def _ranked(
    scored: IntegerRatios, value_range: tuple[Fraction, Fraction]
) -> tuple[list[int], int, Integers]:
    """All values in order, as integers over a common denominator, and the ranks of the scores."""
    numerators, denominator = scored
    whole = math.lcm(denominator, *(end.denominator for end in value_range))
    numerators = [top * (whole // denominator) for top in numerators]
    ranking = sorted({*numerators, *(_numerator(end, whole) for end in value_range)})
    rank_of = {top: rank for rank, top in enumerate(ranking)}
    return ranking, whole, np.array([rank_of[top] for top in numerators], dtype=np.int64)


def _numerator(value: Fraction, denominator: int) -> int:
    return value.numerator * (denominator // value.denominator)


def _partitions(parts: Sequence[Part]) -> Integers:
    found = [part.leaves.partitions for part in parts]
    return found[0] if len(found) == 1 else np.concatenate(found)


def _pieces(
    parts: Sequence[Part], ranks: Integers, highest: int, special: set[float]
) -> tuple[_Pieces, list[Integers]]:
    """Pieces and gaps of the leaves, and which splits changed the utility; these are polished."""
    cover = _cover(parts, ranks, highest)
    changed = [unsettled_splits(part.leaves.splits, cover) for part in parts]
    for part, which in zip(parts, changed, strict=True):
        if which.size:
            _polish(part, which)
    if any(which.size for which in changed):
        cover = _cover(parts, ranks, highest)
    starts, stops, least, most = joined(cover, np.array(sorted(special)))
    return _collect(starts, stops, least, most, special), changed


def _polish(part: Part, which: Integers) -> None:
    """Make the zones of some changes as narrow as can be."""
    course, leaves = part.course, part.leaves
    polish(course.kind, course.pair_functions, leaves.splits, leaves.split_marks, which)


def _likely_ties(parts: Sequence[Part]) -> set[float]:
    """Simple fractions at which an order changes that does not change the utility.

    If others change together with it, the tie rule may decide for neither side of the tie.
    """
    found = set[float]()
    for part in parts:
        zones = part.leaves.splits[:, :2]
        if (which := _with_simple_numbers(*zones.T)).size:
            _polish(part, which)
            points = (_nice_point(*zone) for zone in zones[which].tolist())
            found.update(t for t in points if t is not None)
    return found


def _cover(
    parts: Sequence[Part], ranks: Integers, highest: int
) -> tuple[Floats, Integers, Integers]:
    """Smallest and largest rank between neighbouring positions; see `envelope`."""
    tables = []
    first = 0
    for part in parts:
        leaves, ranges = part.leaves, np.array(part.ranges)
        last = first + len(leaves.partitions)
        own = ranks[first:last]
        tables.append(
            ranked_leaves((leaves.intervals, leaves.info, leaves.splits), own, highest, ranges)
        )
        first = last
    table = tables[0] if len(tables) == 1 else map(np.concatenate, zip(*tables, strict=True))
    low, high, least, most = table
    positions, bottom, top = envelope(low, high, least, most)
    if (top < 0).any():
        raise AssertionError(f"no tree behind t = {positions[:-1][top < 0][0]!r}")
    return positions, bottom, top


def _wide_windows(pieces: _Pieces, tried: Sequence[Window]) -> list[Window]:
    """Neighbourhoods of the gaps that stayed wide, except those inside a window tried before."""
    return [
        (2.0 * stop - start, 2.0 * start - stop)
        for stop, start in zip(pieces.stops[:-1], pieces.starts[1:], strict=True)
        if not is_narrow(stop, start)
        and not any(low <= stop and start <= high for low, high in tried)
    ]


def _open_gaps(pieces: _Pieces) -> list[Window]:
    """Narrow gaps between known values in which the utility may leave the range of the two."""
    found = []
    for i, (least, most) in enumerate(pieces.gaps):
        low, high = sorted(pieces.values[i : i + 2])
        stop, start = pieces.stops[i], pieces.starts[i + 1]
        if 0 <= low and (least < low or most > high) and is_narrow(stop, start):
            found.append((stop, start))
    return found


def _unclear_gaps(pieces: _Pieces) -> list[Window]:
    """Narrow gaps with more than one plain change of the utility, as far as is known."""
    likely = set(_with_simple_numbers(pieces.stops[:-1], pieces.starts[1:]).tolist())
    likely.update(i for i in range(len(pieces.gaps)) if min(pieces.values[i : i + 2]) < 0)
    gaps = [(pieces.stops[i], pieces.starts[i + 1]) for i in likely]
    return sorted({*_open_gaps(pieces), *(gap for gap in gaps if is_narrow(*gap))})


def _unsettled_points(
    pieces: _Pieces, closely: Mapping[Window, PiecewiseFunction | None]
) -> set[float]:
    """Simple fractions in gaps: where comparisons tie, it is usually exactly there.

    A sweep that knows of such a point settles the order on both sides of it.  The gap ends at it if
    the last sweep had an edge there by chance.
    """
    likely = _with_simple_numbers(pieces.stops[:-1], pieces.starts[1:]).tolist()
    gaps = ((pieces.stops[i], pieces.starts[i + 1]) for i in likely)
    points = (_nice_point(*gap) for gap in gaps if not closely.get(gap))
    return {t for t in points if t is not None}


def _with_simple_numbers(low: ArrayLike, high: ArrayLike) -> Integers:
    """Which of the intervals [low, high] hold simple fractions."""
    low, high = np.asarray(low), np.asarray(high)
    if low.size <= FEW:
        ends = zip(low.tolist(), high.tolist(), strict=True)
        return np.array([i for i, own in enumerate(ends) if is_simple(simplest(*own))], np.int64)
    return np.flatnonzero(holds_simple(np.nextafter(low, -np.inf), np.nextafter(high, np.inf)))


def _nice_point(low: float, high: float) -> float | None:
    """The simplest number in a narrow interval or at its ends, if it is simple enough for a tie.

    Next to 0 every gap has numbers of few digits; they count from the point on.
    """
    if not is_narrow(low, high):
        return None
    t = simplest(low, high)
    few_digits = is_simple(t) and math.ldexp(t, SIMPLE_BITS).is_integer()
    return t if few_digits else None


def _collect(
    starts: Floats, stops: Floats, least: Integers, most: Integers, special: set[float]
) -> _Pieces:
    """Closed pieces where the rank is settled, open gaps with rank bounds between them.

    The rank of a point that stands alone is -1; the plain algorithm finds its value.
    """
    pieces = _Pieces([], [], [], [])
    gap: tuple[int, int] | None = None
    rows = zip(starts.tolist(), stops.tolist(), least.tolist(), most.tolist(), strict=True)
    for start, stop, low, high in rows:
        if low < high:
            if gap is not None:
                pieces.gaps.append(gap)
            if gap is not None or not pieces.values:
                pieces.add(start, start, -1)
            gap = low, high
            continue
        if gap is not None:
            pieces.gaps.append(gap)
        elif pieces.values:
            if start not in special:
                raise AssertionError(f"two trees at t = {start!r}")
            before = pieces.values[-1]
            pieces.stops[-1] = math.nextafter(start, -math.inf)
            pieces.gaps += [(before, before), (low, low)]
            pieces.add(start, start, -1)
            start = math.nextafter(start, math.inf)
        pieces.add(start, stop, low)
        gap = None
    if gap is not None:
        pieces.gaps.append(gap)
        pieces.add(stop, stop, -1)
    return pieces


def _insert(pieces: _Pieces, t: float | Fraction, value: int) -> None:
    """Make [t, t] a piece of its own, unless the function has that value around it.

    If t is no float, there is a gap around it instead.
    """
    alone = isinstance(t, float)
    before, after = (t, t) if isinstance(t, float) else floats_around(t)
    i = bisect_right(pieces.starts, before) - 1
    if after > pieces.stops[i]:
        least, most = pieces.gaps[i]
        if alone:
            pieces.starts.insert(i + 1, before)
            pieces.stops.insert(i + 1, after)
            pieces.values.insert(i + 1, value)
            pieces.gaps.insert(i, (least, most))
        else:
            pieces.gaps[i] = min(least, value), max(most, value)
        return
    own = pieces.values[i]
    if alone and pieces.starts[i] == pieces.stops[i]:
        pieces.values[i] = value
    elif own != value:
        middle, gap = [(before, after, value)], (own, own)
        if alone:
            before, after = math.nextafter(before, -math.inf), math.nextafter(after, math.inf)
        else:
            middle, gap = [], (min(own, value), max(own, value))
        replacement = [(pieces.starts[i], before, own), *middle, (after, pieces.stops[i], own)]
        kept = [entry for entry in replacement if entry[0] <= entry[1]]
        pieces.starts[i : i + 1] = [entry[0] for entry in kept]
        pieces.stops[i : i + 1] = [entry[1] for entry in kept]
        pieces.values[i : i + 1] = [entry[2] for entry in kept]
        pieces.gaps[i:i] = [gap] * (len(kept) - 1)


def _fill_gap(pieces: _Pieces, function: PiecewiseFunction, denominator: int) -> None:
    """Put what is known of a gap, its ends included, into its place; nothing if it is no gap."""
    i = bisect_right(pieces.starts, function.low) - 1
    if pieces.stops[i] != function.low or pieces.starts[i + 1] != function.high:
        return
    factor = denominator // function.denominator
    values = [int(top) * factor for top in function.numerators]
    starts, stops = list(map(float, function.starts)), list(map(float, function.stops))
    starts[0], stops[-1] = pieces.starts[i], pieces.stops[i + 1]
    known = pieces.values[i : i + 2]
    if starts[0] == function.low:
        known[0] = values[0]
    if stops[-1] == function.high:
        known[1] = values[-1]
    if known != [values[0], values[-1]]:
        raise AssertionError(f"two values beside the gap behind t = {function.low!r}")
    bounds = zip(function.gap_lower, function.gap_upper, strict=True)
    pieces.gaps[i : i + 1] = [(int(least) * factor, int(most) * factor) for least, most in bounds]
    pieces.starts[i : i + 2], pieces.stops[i : i + 2] = starts, stops
    pieces.values[i : i + 2] = values
