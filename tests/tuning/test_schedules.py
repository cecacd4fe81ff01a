"""The best schedule over all orders and times, against brute force and against tune."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.errors import InputError, ParameterError


def par10(runtimes, order, times, cutoff):
    """What a stopwatch says: each solver runs until its time or the cutoff is over."""
    clock = 0
    for place, solver in enumerate(order):
        last = place == len(order) - 1
        allowed = cutoff - clock if last else min(times[place], cutoff - clock)
        needed = runtimes[solver]
        if needed is not None and needed <= allowed:
            return clock + needed
        clock += max(allowed, 0)
    return 10 * cutoff


@st.composite
def tables(draw):
    """Whole seconds, so that whole switching times are all that matter."""
    n_solvers, n_problems = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    entry = st.one_of(st.none(), st.integers(0, 12))
    return [[draw(entry) for _ in range(n_solvers)] for _ in range(n_problems)]


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(2, 3))
def test_nothing_is_better(rows, size):
    cutoff = 9
    n_solvers = len(rows[0])
    size = min(size, n_solvers)
    instances = [ct.RuntimeInstance({str(i): time for i, time in enumerate(row)}) for row in rows]
    result = ct.best_schedule(instances, cutoff, size)
    best = min(
        sum(par10(row, order, times, cutoff) for row in rows)
        for order in itertools.permutations(range(n_solvers), size)
        for times in itertools.product(range(cutoff + 1), repeat=size - 1)
    )
    assert result.par10 == Fraction(best, len(rows))
    assert sum(result.evaluate(instances)) / len(rows) == result.par10
    alone = min(sum(par10(row, (i,), (), cutoff) for row in rows) for i in range(n_solvers))
    assert result.single_best[1] == Fraction(alone, len(rows)) >= result.par10
    at_best = sum(min(par10(row, (i,), (), cutoff) for i in range(n_solvers)) for row in rows)
    assert result.best_per_problem == Fraction(at_best, len(rows)) <= result.par10


def random_runs(seed, n_problems, n_solvers):
    rng = np.random.default_rng(seed)
    times = rng.exponential(40.0, (n_problems, n_solvers))
    return [
        ct.RuntimeInstance({f"s{i}": None if t > 100 else float(t) for i, t in enumerate(row)})
        for row in times
    ]


def test_tune_finds_the_same_in_every_order():
    runs = random_runs(0, 4, 3)
    best = ct.best_schedule(runs, 100)
    found = []
    for order in itertools.permutations(("s0", "s1", "s2"), 2):
        family = ct.SolverSchedule(order, 100)
        result = ct.tune(family, runs, progress=False)
        found.append(family.par10(result.best_value))
    assert min(found) == pytest.approx(float(best.par10), abs=1e-5)
    family = ct.SolverSchedule(best.schedule.solvers, 100)
    times = {"t1": float(best.schedule.times[0])}
    mean = sum(family.run_exact(each, times) for each in runs) / len(runs)
    assert family.par10(float(mean)) == pytest.approx(float(best.par10), rel=1e-12)


def test_family_keeps_its_promises():
    ct.testing.check_family(ct.SolverSchedule(("s1", "s0"), 100), random_runs(1, 1, 2))


def test_counts_of_the_structure_are_never_exceeded():
    family = ct.SolverSchedule(("s0", "s1"), 100)
    line = family.structure().line
    for run in random_runs(2, 20, 2):
        wide = [piece for piece in family.pieces(run) if piece.start < piece.stop]
        assert len(wide) - 1 <= line.n_breakpoints


def test_guarantees_warn_if_problems_are_few():
    runs = random_runs(3, 60, 4)
    result = ct.best_schedule(runs[:30], 100, 3)
    worst, held_out = result.guarantee(), result.guarantee(held_out=runs[30:])
    assert worst.expected_utility <= held_out.expected_utility <= float(1 - result.par10 / 1000)
    assert worst.delta == 0.05 / result.n_orders == 0.05 / 24
    assert result.par10_of(worst.expected_utility) > float(result.par10)
    assert "s" in str(result) and "24 orders" in str(result)


def test_numbers_beyond_64_bits_are_exact():
    small = Fraction(1, 3**40)
    runs = [ct.RuntimeInstance({"a": 1 + small, "b": None}), ct.RuntimeInstance({"a": 2, "b": 1})]
    result = ct.best_schedule(runs, 10)
    assert result.par10 == min(
        (1 + small + 2) / 2,
        (1 + small + 1 + small + 1) / 2,
        (1 + 1 + small + 1) / 2,
    )


def test_bad_input_is_refused():
    runs = random_runs(0, 3, 3)
    with pytest.raises(ParameterError, match="from 2 to the number of solvers, 3, got 4"):
        ct.best_schedule(runs, 100, 4)
    with pytest.raises(ParameterError, match="cutoff"):
        ct.best_schedule(runs, 0)
    with pytest.raises(InputError, match="at least one problem"):
        ct.best_schedule([], 100)
    with pytest.raises(InputError, match="instance 3 has runs of x"):
        ct.best_schedule([*runs, ct.RuntimeInstance({"x": 1})], 100)
    with pytest.raises(InputError, match="instance 0 is a int"):
        ct.best_schedule([3], 100)
    with pytest.raises(InputError, match="runtime of 'a' must be"):
        ct.RuntimeInstance({"a": -1})
    with pytest.raises(InputError, match="'z' was not run"):
        ct.SolverSchedule(("s0", "z"), 100).dual(runs[0])
    with pytest.raises(ParameterError, match="at least two different names"):
        ct.SolverSchedule(("ab",), 100)
