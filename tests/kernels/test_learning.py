"""Kernels of learning against plain definitions."""

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certune.deadline import TimeIsUp, until
from certune.kernels.learning import OwnedEnds, fullest_window


def owned(ends, owners):
    order = np.argsort(ends, kind="stable")
    return OwnedEnds(np.array(ends)[order], np.array(owners)[order])


def count_at(position, intervals, width, closed):
    """Number of owners whose interval of positions, in rationals, contains the position."""
    met = set()
    for entry, exit_, owner in intervals:
        start, stop = Fraction(entry) - Fraction(width), Fraction(exit_)
        if start < position < stop or (closed and position in (start, stop) and start <= stop):
            met.add(owner)
    return len(met)


# Binary fractions and thirds: sums that are exact and sums that are rounded.
numbers = st.integers(-12, 12).map(lambda k: k / 4) | st.integers(-9, 9).map(lambda k: k / 3)
widths = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0, 2 / 3])


@given(st.lists(st.tuples(numbers, numbers, st.integers(0, 4)), max_size=12), widths, st.booleans())
def test_the_fullest_window_meets_as_many_owners_as_any_position(intervals, width, closed):
    if closed:
        intervals = [(max(a, b), min(a, b), owner) for a, b, owner in intervals]
        intervals = [
            (a, b, owner) for a, b, owner in intervals if Fraction(a) - Fraction(width) <= b
        ]
    else:
        intervals = [(min(a, b), max(a, b), owner) for a, b, owner in intervals]
        intervals = [
            (a, b, owner) for a, b, owner in intervals if Fraction(a) - Fraction(width) < b
        ]
    entries = owned([a for a, _, _ in intervals], np.array([o for *_, o in intervals], dtype=int))
    exits = owned([b for _, b, _ in intervals], np.array([o for *_, o in intervals], dtype=int))
    count, place = fullest_window(entries, exits, 5, width, closed)
    ends = {Fraction(b) for _, b, _ in intervals}
    ends |= {Fraction(a) - Fraction(width) for a, _, _ in intervals}
    ends = sorted(ends)
    inner = [(a + b) / 2 for a, b in zip(ends, ends[1:], strict=False)]
    best = max((count_at(x, intervals, width, closed) for x in ends + inner), default=0)
    assert count == best
    if best == 0:
        assert math.isnan(place)
    elif closed:
        assert count_at(Fraction(place), intervals, width, closed) == best
    else:
        before = max(x for x in inner if x < Fraction(place))
        assert count_at(before, intervals, width, closed) == best


def test_no_discontinuities_fill_no_window():
    empty = OwnedEnds(np.empty(0), np.empty(0, dtype=np.int64))
    count, place = fullest_window(empty, empty, 0, 1.0, True)
    assert count == 0 and math.isnan(place)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (OwnedEnds([1.0, 0.0], [0, 0]), "sorted"),
        (OwnedEnds([math.nan, 0.0], [0, 0]), "sorted"),
        (OwnedEnds([0.0, 1.0], [0]), "one owner"),
        (OwnedEnds([0.0, 1.0], [0, 2]), "from 0 to n_owners"),
        (OwnedEnds([0.0, 1.0], [-1, 0]), "from 0 to n_owners"),
    ],
)
def test_windows_refuse_what_they_cannot_walk_along(entries, message):
    exits = OwnedEnds([0.0, 1.0], [0, 1])
    with pytest.raises(ValueError, match=message):
        fullest_window(entries, exits, 2, 1.0, True)
    with pytest.raises(TypeError):
        fullest_window(OwnedEnds([0.0], [0.5]), exits, 2, 1.0, True)
    with pytest.raises(TypeError):
        fullest_window(OwnedEnds([[0.0]], [0]), exits, 2, 1.0, True)


def test_windows_end_at_the_deadline():
    ends = OwnedEnds(np.arange(100.0), np.zeros(100, dtype=np.int64))
    with until(time.perf_counter()), pytest.raises(TimeIsUp):
        fullest_window(ends, ends, 1, 1.0, True)
