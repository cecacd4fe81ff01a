"""Algorithms that report their decisions, against runs of their own on rational numbers."""

import itertools
import json
import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.errors import InputError, ParameterError
from certune.pfaffian import exp
from certune.pfaffian.programs.decisions import SymbolicValueError
from certune.testing import check_family


def tour(table, decisions):
    """Visit all cities, next the one with the best mixture of two prices."""
    mixture = decisions.parameters["mu"]
    here, left, total = 0, list(range(1, len(table))), 0
    while left:
        scores = [table[here][city][0] + mixture * table[city][here][1] for city in left]
        city = left.pop(decisions.choose(scores))
        total += table[here][city][0] * table[city][here][1]
        here = city
    return Fraction(total, 81 * len(table))


def plain_tour(table, mu):
    here, left, total = 0, list(range(1, len(table))), 0
    while left:
        scores = [table[here][city][0] + mu * table[city][here][1] for city in left]
        city = left.pop(scores.index(max(scores)))
        total += table[here][city][0] * table[city][here][1]
        here = city
    return Fraction(total, 81 * len(table))


@st.composite
def tables(draw):
    size = draw(st.integers(2, 5))
    entry = st.tuples(st.integers(-9, 9), st.integers(-9, 9))
    return tuple(tuple(draw(entry) for _ in range(size)) for _ in range(size))


@settings(max_examples=25, deadline=None)
@given(tables())
def test_dual_is_the_algorithm_everywhere(table):
    family = ct.DecisionFamily(tour, ct.Real("mu", 0, 2), utility_range=(-1, 1))
    dual = family.dual(table)
    places = [k / 61 for k in range(123)]
    for low, high in dual.breakpoints:
        places += [low, high, (low + high) / 2]
    for mu in places:
        lower, upper = dual.enclose_exact(mu)
        assert lower <= plain_tour(table, Fraction(mu)) <= upper
    for mu in (0.0, 0.3, 1.7, 2.0):
        assert family.run_exact(table, mu) == plain_tour(table, Fraction(mu))


def test_one_run_for_each_piece():
    rng = random.Random(1)
    size = 7
    table = tuple(
        tuple((rng.randint(1, 9**6), rng.randint(1, 9**6)) for _ in range(size))
        for _ in range(size)
    )
    strings = []

    def noted(given, decisions):
        told = []
        mixture = decisions.parameters["mu"]
        here, left = 0, list(range(1, len(given)))
        while left:
            told.append(
                decisions.choose([given[here][c][0] + mixture * given[c][here][1] for c in left])
            )
            here = left.pop(told[-1])
        strings.append(tuple(told))
        return Fraction(sum(w * size**i for i, w in enumerate(told)), size**size)

    family = ct.DecisionFamily(noted, ct.Real("mu", 0, 3))
    dual = family.dual(table)
    assert len(set(strings)) == len(strings) == family.n_runs
    assert family.n_runs == len(dual.values) >= 3
    family.dual(table)
    assert family.n_runs == len(strings)  # everything is known


def ranked(numbers, decisions):
    a = decisions.parameters["a"]
    order = decisions.order([exp(-a * number) * (number + 1) for number in numbers])
    if a * a >= 2:
        order.reverse()
    return Fraction(sum(place * item for place, item in enumerate(order)), 20)


def test_orders_comparisons_and_expressions():
    family = ct.DecisionFamily(ranked, ct.Real("a", 0, 2))
    numbers = (3, 1, 0, 2)
    dual = family.dual(numbers)
    rng = np.random.default_rng(0)
    for a in rng.uniform(0, 2, 200):
        keys = [np.exp(-a * number) * (number + 1) for number in numbers]
        order = sorted(range(4), key=lambda i: -keys[i])
        if a * a >= 2:
            order.reverse()
        assert dual(a) == sum(place * item for place, item in enumerate(order)) / 20
    check_family(family, [numbers])


def test_two_parameters_are_tuned_to_a_gap_of_zero():
    def grid(points, decisions):
        x, y = decisions.parameters["x"], decisions.parameters["y"]
        first = decisions.choose([a * x + b * y for a, b in points])
        second = decisions.choose([a * y - b * x for a, b in points])
        return Fraction(abs(first - second), len(points))

    points = ((1, 2), (3, -1), (0, 4), (2, 2), (-1, 3))
    space = ct.ParameterSpace((ct.Real("x", 0.125, 1), ct.Real("y", 0.125, 1)))
    family = ct.DecisionFamily(grid, space)
    result = ct.tune(family, [points], progress=False)
    best = max(
        abs(
            max(range(5), key=lambda i: (points[i][0] * x + points[i][1] * y, -i))
            - max(range(5), key=lambda i: (points[i][0] * y - points[i][1] * x, -i))
        )
        for x, y in itertools.product([Fraction(k, 40) for k in range(5, 41)], repeat=2)
    )
    assert result.best_value >= best / 5 and result.gap == 0
    segment = ct.Segment({"x": 0.125, "y": 1.0}, {"x": 1.0, "y": 0.25})
    dual = family.dual(points, segment)
    for t in np.linspace(0, 1, 33):
        assert dual(t) == family.run(points, segment.at(t))


def test_what_is_not_deterministic_is_refused():
    counter = itertools.count()

    def moody(bound, decisions):
        calls = next(counter)
        decisions.choose([decisions.parameters["a"], calls + 0.5])
        return 0

    family = ct.DecisionFamily(moody, ct.Real("a", 0, 2))
    with pytest.raises(InputError, match="not deterministic.*after 0 decisions"):
        family.dual(1)


def test_a_failure_is_told_even_if_the_code_swallows_it():
    def deaf(scores, decisions):
        try:
            decisions.choose(scores)
        except Exception:
            return 1
        return 0

    family = ct.DecisionFamily(deaf, ct.Real("a", 0, 1))
    with pytest.raises(InputError, match=r"scores\[1\] of a decision.*nan"):
        family.dual((1.0, float("nan")))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda d: d.choose([]), "at least one candidate"),
        (lambda d: d.choose(["x"]), r"scores\[0\]"),
        (lambda d: d.choose(3), "scores"),
        (lambda d: d.choose_linear([1, 2], [1]), "as many offsets as slopes, got 2 and 1"),
        (lambda d: d.choose_linear([1], [1], "b"), "asks for the parameter 'b'"),
        (lambda d: d.order([float("inf"), 1]), r"scores\[0\]"),
    ],
)
def test_bad_decisions_are_refused(ask, message):
    family = ct.DecisionFamily(lambda x, decisions: ask(decisions), ct.Real("a", 0, 1))
    for attempt in (family.dual, lambda x: family.run(x, 0.5)):
        with pytest.raises((InputError, ParameterError), match=message):
            attempt(1)


def test_other_processes_begin_anew():
    family = ct.DecisionFamily(tour, ct.Real("mu", 0, 2), utility_range=(-1, 1))
    table = (((1, 2), (3, 4)), ((5, 6), (7, 8)))
    dual = family.dual(table)
    other = pickle.loads(pickle.dumps(family))
    assert other.n_runs == 0 and other.fingerprint == family.fingerprint
    assert other.dual(table) == dual
    with pytest.raises(ParameterError, match="algorithm must be a function"):
        ct.DecisionFamily(3, ct.Real("mu", 0, 2))


def test_the_structure_of_reported_decisions_is_found_or_stated():
    def walk(steps, decisions):
        gained = 0
        for costs, gains in steps:
            gained += gains[decisions.choose_linear(gains, [-cost for cost in costs])]
        return gained / 100

    family = ct.DecisionFamily(walk, ct.Real("price", 0, 10))
    steps = (((1, 5), (3, 11)), ((2, 2), (7, 9)), ((1, 3), (6, 20)))
    assert family.structure(steps).n_boundaries == 3
    family.check_structure([steps])

    def elsewhere(steps, decisions):
        json.dumps(steps)  # what another process is told
        return walk(steps, decisions)

    with pytest.raises(InputError, match="needs the value of an instance number.*JSON"):
        ct.DecisionFamily(elsewhere, ct.Real("price", 0, 10)).structure(steps)
    stated = ct.DecisionFamily(
        elsewhere, ct.Real("price", 0, 10), structure=lambda _: family.structure(steps)
    )
    assert stated.structure(steps).n_boundaries == 3
    stated.check_structure([steps])


def swallows_what_it_is_refused(x, decisions):
    try:
        return 1 if math.exp(decisions.parameters["a"]) > x else 0
    except TypeError:
        return 0.5


def hands_a_parameter_to_numpy(x, decisions):
    return 1 if np.quantile([decisions.parameters["a"], x], 0.5) > 0.5 else 0


@pytest.mark.parametrize(
    ("algorithm", "what"),
    [
        (swallows_what_it_is_refused, "the parameter a has no float value"),
        (hands_a_parameter_to_numpy, r"np\.quantile.* does not take .* from the parameter a"),
    ],
)
def test_a_refusal_is_told_every_time(algorithm, what):
    """Runs are remembered; one that was refused is none."""
    family = ct.DecisionFamily(algorithm, ct.Real("a", 0, 1))
    for _ in range(3):
        with pytest.raises(SymbolicValueError, match=what):
            family.dual(0.5)
