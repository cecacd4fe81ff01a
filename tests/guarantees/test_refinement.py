"""The joint refinement against sums of the functions themselves and against enumeration."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.dual import sum_of
from certune.guarantees import (
    count_utility_vectors,
    decided_at_shared_points,
    rademacher,
    refine,
)
from certune.guarantees.vectors import MOST_OPEN
from certune.testing import StepFamily, StepInstance, WindowDomain

PRIMES = (1_000_003, 1_000_033, 1_000_037, 1_000_039, 1_000_081)


@st.composite
def samples(draw):
    """Functions on [0, 1] with ends on a coarse grid, so that gaps touch, overlap and coincide."""
    n_functions = draw(st.integers(1, 4))
    wide = draw(st.booleans())
    functions = []
    for number in range(n_functions):
        m = draw(st.integers(1, 4))
        inner = draw(st.lists(st.integers(1, 23), min_size=2 * m - 2, max_size=2 * m - 2))
        ends = np.array([0, *sorted(inner), 24]) / 24
        values = [draw(st.integers(0, 3)) for _ in range(m)]
        gaps = [sorted(draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))) for _ in range(m - 1)]
        starts, stops = ends[::2], ends[1::2]
        if (stops[:-1] >= starts[1:]).any():
            starts, stops, values, gaps = [0.0], [1.0], values[:1], []
        # Three primes of twenty bits give a common denominator beyond 62 bits.
        bottom = 7 * PRIMES[number] * PRIMES[number - 1] if wide else 3
        lower, upper = [g[0] for g in gaps], [g[1] for g in gaps]
        functions.append(ct.PiecewiseFunction(starts, stops, values, lower, upper, bottom))
    return functions


def signed(functions, signs):
    """Sum with signs; functions that are equal have equal values, in their gaps too."""
    distinct, factors = [], []
    for function, sign in zip(functions, signs, strict=True):
        if function not in distinct:
            distinct.append(function)
            factors.append(0)
        factors[distinct.index(function)] += int(sign)
    return sum_of(f * factor for f, factor in zip(distinct, factors, strict=True))


@settings(max_examples=150, deadline=None)
@given(samples())
def test_signed_suprema_are_those_of_the_sums(functions):
    refinement = refine(functions)
    signs = np.array(list(product((-1, 1), repeat=len(functions))), dtype=np.int8)
    lower, upper = refinement.signed_suprema(signs)
    for row, low, high in zip(signs, lower.tolist(), upper.tolist(), strict=True):
        total = signed(functions, row)
        low, high = Fraction(low, refinement.scale), Fraction(high, refinement.scale)
        slack = 0 if refinement.is_exact else Fraction(len(functions), refinement.scale)
        assert total.upper_bound_exact <= high <= total.upper_bound_exact + slack
        assert total.max_exact - slack <= low <= high


@settings(max_examples=150, deadline=None)
@given(samples(), st.integers(0, 2**32 - 1))
def test_weighted_optima_are_those_of_the_sums(functions, seed):
    refinement, n = refine(functions), len(functions)
    weights = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=5)
    optima = refinement.optima(weights)
    decided = np.flatnonzero(refinement.n_open == 0)
    hits = np.zeros(refinement.begins.size, dtype=int)
    for row, start, stop, value in zip(
        weights, optima.starts, optima.stops, optima.values, strict=True
    ):
        total = sum_of(f * int(w) for f, w in zip(functions, row, strict=True) if w)
        assert (start, stop) == total.widest_plateau(0)
        assert value == pytest.approx(float(total.max_exact / n), abs=1e-12)
        for state in decided:
            hits[state] += total.value_at(refinement.begins[state]) == total.max_exact
    assert np.array_equal(optima.n_optimal[decided], hits[decided])
    assert (optima.n_optimal <= optima.n_maybe_optimal).all()


def test_large_denominators_are_rounded_outward_and_resolved():
    # Two peaks that differ by 1e-30: rounded values cannot tell which one is better.
    tiny = Fraction(1, 10**30)
    flat = ct.PiecewiseFunction.constant(0, 1, Fraction(1, PRIMES[0] * PRIMES[1] * PRIMES[2]))
    peaks = ct.PiecewiseFunction.from_values(
        [0, 0.25, 0.5], [0.125, 0.375, 1], [HALF, 0, HALF + tiny], [0, 0], [HALF, HALF + tiny]
    )
    refinement = refine([flat, peaks])
    assert not refinement.is_exact
    optima = refinement.optima(np.array([[1, 1], [2, 0]]))
    assert (optima.starts[0], optima.stops[0]) == (0.5, 1.0)
    assert (optima.starts[1], optima.stops[1]) == (0.0, 1.0)
    assert optima.n_optimal.tolist()[0] == 1 and optima.n_optimal.tolist()[-1] == 2


HALF = Fraction(1, 2)


def test_vectors_are_counted_as_by_enumeration():
    rng = np.random.default_rng(5)
    for n in (1, 3, 8):
        instances = WindowDomain().sample(n, rng)
        duals = [StepFamily().dual(instance) for instance in instances]
        steps = sorted(step for instance in instances for step in instance.thresholds)
        points = [0.0, *steps]
        vectors = {tuple(StepFamily().run_exact(i, x) for i in instances) for x in points}
        assert count_utility_vectors(refine(duals)) == len(vectors)


@settings(max_examples=100, deadline=None)
@given(samples())
def test_all_vectors_lie_in_the_hull_of_those_counted(functions):
    # A linear function is maximal at a corner: the count is at least that of the distinct
    # maximisers over all sign patterns, and at most that of all corners of all boxes.
    refinement = refine(functions)
    count = count_utility_vectors(refinement)
    decided = {
        tuple(f.value_at(t) for f in functions)
        for t, n_open in zip(refinement.begins.tolist(), refinement.n_open, strict=True)
        if n_open == 0
    }
    assert len(decided) <= count <= sum(2 ** int(k) for k in refinement.n_open)


def test_coinciding_breakpoints_count_every_corner():
    # Where k functions may change independently, all 2^k combinations are possible.
    step = ct.PiecewiseFunction([0, 0.5], [0.25, 1], [1, 0], [0], [1], 1)
    for k in (1, 2, 3, MOST_OPEN):
        assert count_utility_vectors(refine([step * (i + 1) for i in range(k)])) == 2**k
    many = MOST_OPEN + 2
    assert count_utility_vectors(refine([step * (i + 1) for i in range(many)])) == 2**many + 2


def test_equal_functions_change_together():
    step = ct.PiecewiseFunction([0, 0.5], [0.25, 1], [1, 0], [0], [1], 1)
    other = step * Fraction(1, 3)
    refinement = refine([step, other, step, step])
    assert len(refinement.distinct) == 2 and refinement.n_functions == 4
    assert refinement.n_open.tolist() == [0, 2, 0]
    assert count_utility_vectors(refinement) == 4
    # In the gap 2 u_1 - u_2 is at most 2 and at least -1/3; with all signs -, at most 0.
    signs = np.array([[1, -1, 1, -1], [1, 1, 1, 1], [-1, 1, -1, -1]], dtype=np.int8)
    _, upper = refinement.signed_suprema(signs)
    assert [Fraction(int(u), refinement.scale) * 3 for u in upper] == [3, 10, 1]
    weights = np.array([[1, 0, 2, 1], [0, 4, 0, 0]])
    optima, plain = refinement.optima(weights), refine([step * 4]).optima(np.array([[1]]))
    assert (optima.starts[0], optima.stops[0]) == (plain.starts[0], plain.stops[0])
    assert optima.values[0] == 1.0 and optima.values[1] == pytest.approx(1 / 3)


def test_no_setting_lies_between_neighbouring_floats():
    # Both change between 0.5 and the float before it: no float has a mixture of old and new.
    before = math.nextafter(0.5, 0)
    up = ct.PiecewiseFunction([0, 0.5], [before, 1], [0, 1], [0], [1], 1)
    down = ct.PiecewiseFunction([0, 0.5], [before, 1], [1, 0], [0], [1], 2)
    refinement = refine([up, down])
    assert refinement.is_setting.tolist() == [True, False, True]
    assert count_utility_vectors(refinement) == 2
    found = rademacher(refinement)
    # Vectors (0, 1/2) and (1, 0): signs ++ 1, +- 1, -+ 1/2, -- -1/2; mean 2/4, halved 1/4.
    assert found.lower <= 0.25 <= found.upper <= math.nextafter(found.lower, 1)
    # A gap with a single float inside is a setting of its own.
    wide = ct.PiecewiseFunction([0, 0.5], [math.nextafter(before, 0), 1], [0, 1], [0], [1], 1)
    assert refine([wide]).is_setting.tolist() == [True, True, True]
    mixed = refine([up, wide])
    assert mixed.is_setting.tolist() == [True, True, False, True]
    assert count_utility_vectors(mixed) == 3


@pytest.mark.parametrize("n", [1, 5, 9])
def test_shared_breakpoints_give_the_enumerated_complexity(n):
    # Same thresholds for all, by a program with constants say; some instances occur twice.
    rng = np.random.default_rng(n)
    tables = [rng.integers(0, 5, size=4).tolist() for _ in range(n)]
    tables[-1] = tables[0]
    thresholds = (0.25, 0.3, 0.75)
    duals = [
        StepFamily().dual(StepInstance(thresholds, tuple(Fraction(k, 4) for k in table)))
        for table in tables
    ]
    signs = np.array(list(product((-1, 1), repeat=n)))
    exact = (signs @ np.array(tables)).max(axis=1).sum() / (4 * n * 2**n)
    found = rademacher(refine(duals))
    assert found.upper == pytest.approx(exact, rel=1e-15)
    assert count_utility_vectors(refine(duals)) == len(set(zip(*tables, strict=True)))


def test_floats_shared_by_gaps_are_decided_by_runs():
    def program(x, parameters):
        if parameters["a"] < 0.3:
            return 0.25 if x % 2 else 0.75
        if parameters["a"] < 0.7:
            return (x % 5) / 8
        return 0.75 if x % 2 else 0.25

    family = ct.ProgramFamily(program, ct.Real("a", 0, 1))
    numbers = [3, 4, 9, 12, 3, 16]
    duals = [family.dual(x) for x in numbers]
    vectors = np.array([[program(x, {"a": a}) for x in numbers] for a in (0.0, 0.3, 0.7)])
    signs = np.array(list(product((-1, 1), repeat=6)))
    exact = (signs @ vectors.T).max(axis=1).sum() / (6 * 2**6)

    def run(number, t):
        return family.run_exact(numbers[number], t)

    decided = decided_at_shared_points(duals, run)
    found = rademacher(refine(decided))
    assert found.upper == pytest.approx(exact, rel=1e-12) and found.lower <= exact
    assert count_utility_vectors(refine(decided)) == 3
    for before, after in zip(duals, decided, strict=True):
        assert after(0.3) == after(0.31) and after(0.1) == before(0.1)
        assert after.n_pieces >= before.n_pieces
    # The guarantee uses them.
    tuned = ct.tune(family, numbers)
    (bound,) = tuned.guarantee(kinds=["massart"]).bounds
    assert bound.note == "3 utility vectors"


def test_floats_that_no_run_decides_stay_open():
    before, after = math.nextafter(0.5, 0), math.nextafter(0.5, 1)
    steps = [ct.PiecewiseFunction([0, after], [before, 1], [0, k], [0], [k], 2) for k in (1, 2)]

    def run(number, t):
        raise ct.UndecidedError("too close")

    assert decided_at_shared_points(steps, run) == steps
    # A float in the gap of a single function is left alone: nothing is gained.
    assert decided_at_shared_points(steps[:1] * 3, lambda number, t: 0) == steps[:1] * 3


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([], "at least one"),
        ([1.0], "piecewise constant"),
        ([ct.PiecewiseFunction.constant(0, 1, 0), ct.PiecewiseFunction.constant(0, 2, 0)], "same"),
    ],
)
def test_what_cannot_be_refined_is_refused(functions, message):
    with pytest.raises(ct.InputError, match=message):
        refine(functions)


def test_weights_must_be_counts():
    refinement = refine([ct.PiecewiseFunction.constant(0, 1, 0)] * 2)
    for weights in ([[0, 0]], [[2, 1]], [[-1, 2]]):
        with pytest.raises(ct.ParameterError, match="counts"):
            refinement.optima(np.array(weights))
