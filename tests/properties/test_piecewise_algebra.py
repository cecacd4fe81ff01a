"""Algebra of piecewise functions against slow, obvious definitions.

Ends lie on a fixed grid, so that touching, nested and overlapping gaps and one-point pieces are
common. A slot is a grid point or the open interval between two; on slots everything is constant.
"""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certune.dual import PiecewiseFunction, mean, sum_of
from certune.errors import UndecidedError

GRID = [-2.0, -1.0, -0.1, 0.0, 2.0**-40, 0.3, 1.0, 1.5, 7.0]
SLOTS = sorted(GRID + [0.5 * (a + b) for a, b in zip(GRID, GRID[1:], strict=False)])
DENOMINATORS = st.sampled_from([1, 2, 3, 6, 100, 2**61 - 1, 10**20 + 39])
SMALL = st.integers(-3, 3)
ANY_SIZE = st.one_of(SMALL, st.integers(2**61, 2**64), st.integers(-(10**25), 10**25))
SCALARS = st.one_of(
    st.integers(-4, 4),
    st.fractions(max_denominator=12),
    st.floats(-1e6, 1e6, allow_subnormal=False),
)


@st.composite
def gap_positions(draw: st.DrawFn) -> list[tuple[int, int]]:
    gaps: list[tuple[int, int]] = []
    position = draw(st.integers(0, 3))
    while True:
        stop = position + draw(st.integers(1, 3))
        if stop >= len(GRID):
            return gaps
        gaps.append((position, stop))
        position = stop + draw(st.integers(0, 2))


@st.composite
def functions(draw: st.DrawFn, integers: st.SearchStrategy[int] | None = None) -> PiecewiseFunction:
    integers = draw(st.sampled_from([SMALL, ANY_SIZE])) if integers is None else integers
    gaps = draw(gap_positions())
    values = [draw(integers) for _ in range(len(gaps) + 1)]
    lower, upper = [], []
    for left, right in zip(values, values[1:], strict=False):
        extra = draw(st.lists(integers, max_size=2))
        known = draw(st.booleans()) and bool(extra)
        bounds = extra[:1] if known else [left, right, *extra]
        lower.append(min(bounds))
        upper.append(max(bounds))
    starts = [GRID[0]] + [GRID[stop] for _, stop in gaps]
    stops = [GRID[start] for start, _ in gaps] + [GRID[-1]]
    return PiecewiseFunction(starts, stops, values, lower, upper, draw(DENOMINATORS))


class Knowledge(NamedTuple):
    """What a function states about one slot: inside a piece or not, and the bounds."""

    on_piece: bool
    lower: Fraction
    upper: Fraction


def knowledge(f: PiecewiseFunction, t: float) -> Knowledge:
    for i in range(f.n_pieces):
        if f.starts[i] <= t <= f.stops[i]:
            value = Fraction(int(f.numerators[i]), f.denominator)
            return Knowledge(True, value, value)
    (gap,) = [i for i in range(f.n_pieces - 1) if f.stops[i] < t < f.starts[i + 1]]
    bounds = (Fraction(int(b[gap]), f.denominator) for b in (f.gap_lower, f.gap_upper))
    return Knowledge(False, *bounds)


def assemble(slots: list[Knowledge]) -> PiecewiseFunction:
    """Build the function with maximal runs of slots as its pieces and gaps."""
    runs: list[list[int]] = [[0]]
    for i in range(1, len(slots)):
        if slots[i].on_piece == slots[i - 1].on_piece:
            runs[-1].append(i)
        else:
            runs.append([i])
    pieces, gaps = runs[::2], runs[1::2]
    assert all(len({slots[i].lower for i in run}) == 1 for run in pieces)
    return PiecewiseFunction.from_values(
        [SLOTS[run[0]] for run in pieces],
        [SLOTS[run[-1]] for run in pieces],
        [slots[run[0]].lower for run in pieces],
        [min(slots[i].lower for i in run) for run in gaps],
        [max(slots[i].upper for i in run) for run in gaps],
    )


def slotwise_sum(summands: list[PiecewiseFunction]) -> PiecewiseFunction:
    return assemble(
        [
            Knowledge(
                all(k.on_piece for k in known),
                sum((k.lower for k in known), Fraction(0)),
                sum((k.upper for k in known), Fraction(0)),
            )
            for known in ([knowledge(f, t) for f in summands] for t in SLOTS)
        ]
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(functions(), min_size=1, max_size=5))
def test_sum_is_the_slotwise_sum(summands: list[PiecewiseFunction]) -> None:
    result = sum_of(summands)
    result._check()
    assert result == slotwise_sum(summands)


@settings(max_examples=80, deadline=None)
@given(st.lists(functions(SMALL), min_size=2, max_size=5))
def test_sum_of_small_integers_is_the_slotwise_sum(summands: list[PiecewiseFunction]) -> None:
    assert sum_of(summands) == slotwise_sum(summands)


@settings(deadline=None)
@given(functions(), functions())
def test_sum_is_exact_and_commutative(f: PiecewiseFunction, g: PiecewiseFunction) -> None:
    total = f + g
    assert total == g + f == sum_of([f, g])
    for t in SLOTS:
        if knowledge(f, t).on_piece and knowledge(g, t).on_piece:
            exact = knowledge(f, t).lower + knowledge(g, t).lower
            assert total.value_at(t) == exact


@settings(deadline=None)
@given(st.lists(functions(), min_size=2, max_size=4), st.data())
def test_enclosures_of_a_sum_contain_every_admissible_truth(
    summands: list[PiecewiseFunction], data: st.DataObject
) -> None:
    total = sum_of(summands)
    for t in SLOTS:
        truth = Fraction(0)
        for f in summands:
            lower, upper = f.enclose_exact(t)
            share = data.draw(st.sampled_from([Fraction(0), Fraction(1, 3), Fraction(1)]))
            truth += lower + share * (upper - lower)
        lower, upper = total.enclose_exact(t)
        assert lower <= truth <= upper
        low, high = total.enclose(t)
        assert low <= lower <= upper <= high


@settings(deadline=None)
@given(functions(), functions(), functions())
def test_sum_at_once_is_never_looser_than_pairwise(
    f: PiecewiseFunction, g: PiecewiseFunction, h: PiecewiseFunction
) -> None:
    at_once = sum_of([f, g, h])
    for pairwise in ((f + g) + h, f + (g + h)):
        for t in SLOTS:
            tight, loose = at_once.enclose_exact(t), pairwise.enclose_exact(t)
            assert loose[0] <= tight[0] <= tight[1] <= loose[1]
            if all(knowledge(summand, t).on_piece for summand in (f, g, h)):
                assert tight == loose


@settings(deadline=None)
@given(gap_positions(), st.data())
def test_sum_is_associative_where_gaps_do_not_partly_overlap(
    gaps: list[tuple[int, int]], data: st.DataObject
) -> None:
    def draw() -> PiecewiseFunction:
        chosen = [gap for gap in gaps if data.draw(st.booleans())]
        values = [data.draw(SMALL) for _ in range(len(chosen) + 1)]
        pairs = list(zip(values, values[1:], strict=False))
        return PiecewiseFunction(
            [GRID[0]] + [GRID[stop] for _, stop in chosen],
            [GRID[start] for start, _ in chosen] + [GRID[-1]],
            values,
            [min(pair) for pair in pairs],
            [max(pair) + 1 for pair in pairs],
            data.draw(DENOMINATORS),
        )

    f, g, h = draw(), draw(), draw()
    assert (f + g) + h == f + (g + h) == sum_of([f, g, h])


@settings(deadline=None)
@given(functions(), st.integers(1, 7))
def test_mean_of_copies_is_the_function(f: PiecewiseFunction, n: int) -> None:
    average = mean([f] * n)
    average._check()
    assert average == f
    assert hash(average) == hash(f)


@settings(deadline=None)
@given(functions(), SCALARS)
def test_multiples_are_exact(f: PiecewiseFunction, factor: Fraction | float | int) -> None:
    product = f * factor
    product._check()
    assert product == factor * f
    for t in SLOTS:
        ends = sorted(bound * Fraction(factor) for bound in f.enclose_exact(t))
        assert list(product.enclose_exact(t)) == ends


@settings(deadline=None)
@given(functions(), functions())
def test_difference_undoes_sum_on_pieces(f: PiecewiseFunction, g: PiecewiseFunction) -> None:
    negative = -f
    assert -negative == f
    assert f - g == f + -g
    back = (f + g) - g
    back._check()
    for t in SLOTS:
        lower, upper = back.enclose_exact(t)
        assert lower <= f.enclose_exact(t)[0] and f.enclose_exact(t)[1] <= upper
        if knowledge(f, t).on_piece and knowledge(g, t).on_piece:
            assert back.value_at(t) == f.value_at(t)


@settings(deadline=None)
@given(functions(SMALL))
def test_argmax_is_the_set_of_maximisers(f: PiecewiseFunction) -> None:
    best = max(knowledge(f, t).lower for t in SLOTS if knowledge(f, t).on_piece)
    assert f.max_exact == best
    intervals = f.argmax()
    assert all(a[1] < b[0] for a, b in zip(intervals, intervals[1:], strict=False))
    for t in SLOTS:
        inside = any(low <= t <= high for low, high in intervals)
        known = knowledge(f, t)
        if inside:
            assert known.lower == best or (not known.on_piece and known.lower > best)
        if known.on_piece and known.lower == best:
            assert inside
    bridged = {
        (f.stops[i], f.starts[i + 1])
        for i in range(f.n_pieces - 1)
        if f.numerators[i] == f.numerators[i + 1] == best * f.denominator <= f.gap_lower[i]
    }
    for stop, start in bridged:
        assert any(low <= stop and start <= high for low, high in intervals)


@settings(deadline=None)
@given(functions(), SCALARS)
def test_widest_plateau_is_the_widest(f: PiecewiseFunction, tolerance: Fraction | float) -> None:
    tolerance = abs(Fraction(tolerance))
    level = f.max_exact - tolerance
    good = [knowledge(f, t).lower >= level for t in SLOTS]
    candidates = [
        (SLOTS[i], SLOTS[j])
        for i in range(0, len(SLOTS), 2)
        for j in range(i, len(SLOTS), 2)
        if all(good[i : j + 1])
        and knowledge(f, SLOTS[i]).on_piece
        and knowledge(f, SLOTS[j]).on_piece
    ]
    low, high = f.widest_plateau(tolerance)
    assert (low, high) in candidates
    assert high - low == max(b - a for a, b in candidates)


@settings(deadline=None)
@given(functions())
def test_upper_bound_is_above_everything(f: PiecewiseFunction) -> None:
    uppers = [knowledge(f, t).upper for t in SLOTS]
    assert f.upper_bound_exact == max(uppers)
    assert f.upper_bound_exact >= f.max_exact
    assert f.upper_bound >= f.max()


@settings(deadline=None)
@given(functions())
def test_evaluation_agrees_with_the_definition(f: PiecewiseFunction) -> None:
    expected = []
    for t in SLOTS:
        known = knowledge(f, t)
        decided = known.lower == known.upper
        expected.append(float(known.lower) if decided else np.nan)
        assert f.value_at(t) == (known.lower if decided else None)
        assert f.enclose_exact(t) == (known.lower, known.upper)
        np.testing.assert_equal(f(t), expected[-1])
    np.testing.assert_array_equal(f(SLOTS), expected)
    np.testing.assert_array_equal(f(f.sample_points()), f.values)


@settings(deadline=None)
@given(functions())
def test_integral_is_the_sum_over_slots(f: PiecewiseFunction) -> None:
    lower = upper = Fraction(0)
    for a, b in zip(GRID, GRID[1:], strict=False):
        known = knowledge(f, 0.5 * (a + b))
        width = Fraction(b) - Fraction(a)
        lower, upper = lower + width * known.lower, upper + width * known.upper
    low, high = f.integral()
    assert low <= lower < np.nextafter(low, np.inf)
    assert np.nextafter(high, -np.inf) < upper <= high


@settings(deadline=None)
@given(functions(), st.data())
def test_restriction_keeps_all_knowledge(f: PiecewiseFunction, data: st.DataObject) -> None:
    decided = [i for i, t in enumerate(SLOTS) if f.value_at(t) is not None]
    i, j = sorted(data.draw(st.sampled_from(decided)) for _ in range(2))
    part = f.restrict(SLOTS[i], SLOTS[j])
    part._check()
    assert (part.low, part.high) == (SLOTS[i], SLOTS[j])
    for t in SLOTS[i : j + 1]:
        assert part.enclose_exact(t) == f.enclose_exact(t)


@settings(deadline=None)
@given(functions())
def test_restriction_refuses_undecided_ends(f: PiecewiseFunction) -> None:
    for t in SLOTS:
        if f.value_at(t) is None:
            with pytest.raises(UndecidedError):
                f.restrict(f.low, t)
            with pytest.raises(UndecidedError):
                f.restrict(t, f.high)


@settings(deadline=None)
@given(functions())
def test_stored_and_pickled_functions_come_back(f: PiecewiseFunction) -> None:
    arrays = f.to_arrays()
    assert all(array.dtype.kind in "fiU" for array in arrays.values())
    for copy in (PiecewiseFunction.from_arrays(arrays), pickle.loads(pickle.dumps(f))):
        copy._check()
        assert copy == f and copy.name == f.name


@settings(deadline=None)
@given(functions(), st.integers(1, 10**30))
def test_equality_is_mathematical(f: PiecewiseFunction, factor: int) -> None:
    expanded = PiecewiseFunction(
        f.starts,
        f.stops,
        [int(n) * factor for n in f.numerators],
        [int(n) * factor for n in f.gap_lower],
        [int(n) * factor for n in f.gap_upper],
        f.denominator * factor,
    )
    expanded._check()
    assert expanded == f and hash(expanded) == hash(f)
    assert f + PiecewiseFunction.constant(f.low, f.high, Fraction(1, factor)) != f
