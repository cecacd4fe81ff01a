"""Sorts and choices along a line, kept from pass to pass, against rational arithmetic."""

import functools
import itertools
import math
from fractions import Fraction

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.pfaffian import argmax, argsort, vector

LINES = st.lists(st.tuples(st.integers(-5, 5), st.integers(-4, 4)), min_size=1, max_size=6)


def number_of(order):
    return sum(item * 7**place for place, item in enumerate(order))


def ranks(lines, parameters):
    t = parameters["t"]
    keys = [a + b * t for a, b in lines]
    up, down = argsort(keys), argsort(keys, descending=True)
    return Fraction(number_of(up) + 7**7 * number_of(down) + 7**14 * argmax(keys), 7**15)


def plain_ranks(lines, t):
    keys = [a + b * t for a, b in lines]
    up = sorted(range(len(keys)), key=lambda i: keys[i])
    down = sorted(range(len(keys)), key=lambda i: -keys[i])
    return Fraction(number_of(up) + 7**7 * number_of(down) + 7**14 * keys.index(max(keys)), 7**15)


@settings(max_examples=60, deadline=None)
@given(LINES)
def test_orders_are_right_everywhere(lines):
    family = ct.ProgramFamily(ranks, ct.Real("t", -2, 3))
    dual = family.dual(tuple(lines))
    places = [k / 23 - 2 for k in range(0, 116, 3)]
    places += [t for low, high in dual.breakpoints for t in (low, (low + high) / 2, high)]
    for t in places:
        lower, upper = dual.enclose_exact(t)
        assert lower <= plain_ranks(lines, Fraction(t)) <= upper
    for start, stop in zip(dual.starts, dual.stops, strict=True):
        middle = start / 2 + stop / 2
        assert dual.enclose_exact(middle) == (plain_ranks(lines, Fraction(middle)),) * 2


SCORES = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=2, max_size=6)


def score_ranks(items, parameters):
    values, sizes = vector([v for v, _ in items]), vector([s for _, s in items])
    keys = values / sizes ** parameters["t"]
    up, down = argsort(keys), argsort(keys, descending=True)
    # A comparison beside the sort, of two of its keys.
    return Fraction(2 * (number_of(up) + 7**7 * number_of(down)) + (keys[0] > keys[1]), 7**15)


def exact_score_ranks(items, t):
    """At a whole number t the scores are rational numbers."""
    keys = [Fraction(v) / Fraction(s) ** t for v, s in items]
    up = sorted(range(len(keys)), key=lambda i: keys[i])
    down = sorted(range(len(keys)), key=lambda i: -keys[i])
    return Fraction(2 * (number_of(up) + 7**7 * number_of(down)) + (keys[0] > keys[1]), 7**15)


def ball_score_ranks(items, t):
    """Ranks from logarithms of 200 bits; None where two of them cannot be told apart."""
    with flint.ctx.workprec(200):
        logs = [flint.arb(v).log() - flint.arb(s).log() * flint.arb(t) for v, s in items]
        for i, j in itertools.combinations(range(len(items)), 2):
            if items[i] != items[j] and not (logs[i] < logs[j] or logs[i] > logs[j]):
                return None
        keys = [float(i) for i in range(len(items))]
        order = sorted(
            range(len(items)),
            key=functools.cmp_to_key(
                lambda i, j: 0 if items[i] == items[j] else -1 if logs[i] < logs[j] else 1
            ),
        )
        for rank, i in enumerate(order):
            same = rank and items[i] == items[order[rank - 1]]
            keys[i] = keys[order[rank - 1]] if same else float(rank)
    up = sorted(range(len(keys)), key=lambda i: keys[i])
    down = sorted(range(len(keys)), key=lambda i: -keys[i])
    return Fraction(2 * (number_of(up) + 7**7 * number_of(down)) + (keys[0] > keys[1]), 7**15)


@settings(max_examples=40, deadline=None)
@given(SCORES)
def test_orders_of_scores_with_exponents_are_right_everywhere(items):
    """Few small numbers: most roots are ties at whole numbers, and many fall together."""
    family = ct.ProgramFamily(score_ranks, ct.Real("t", 0, 3))
    dual = family.dual(tuple(items))
    for t in (0, 1, 2, 3):
        lower, upper = dual.enclose_exact(float(t))
        assert lower <= exact_score_ranks(items, t) <= upper
    for start, stop in zip(dual.starts, dual.stops, strict=True):
        for t in {start, start / 2 + stop / 2, stop}:
            expected = ball_score_ranks(items, t)
            if expected is not None:
                assert dual.enclose_exact(t) == (expected, expected)


def middle_wins(items, parameters):
    keys = [v / s ** parameters["t"] for v, s in items]
    return int(argmax(keys) == 0)


def middle_leads(items, parameters):
    keys = [v / s ** parameters["t"] for v, s in items]
    return int(argsort(keys, descending=True)[0] == 0)


@pytest.mark.parametrize("program", [middle_wins, middle_leads])
@pytest.mark.parametrize(
    ("items", "place"),
    [
        (((2, 3), (4, 9), (1, 1)), math.log(2) / math.log(3)),
        # Here the nearest bracket is that of the next winner.
        (((39, 5), (351, 125), (13, 1)), math.log(3) / math.log(5)),
    ],
)
def test_three_scores_that_meet_at_an_irrational_place(program, items, place):
    """All tie there, where the first is chosen, and nowhere else."""
    dual = ct.ProgramFamily(program, ct.Real("t", 0, 1)).dual(items)
    ((low, high),) = dual.breakpoints
    assert low <= place <= high and high - low < 1e-12  # the place itself is rounded
    assert dual.enclose_exact(low / 2 + high / 2) == (0, 1)
    assert dual(low - 0.1) == dual(high + 0.1) == 0.0


def test_a_choice_follows_the_upper_envelope():
    lines = [(Fraction(k * k, 7), Fraction(-k, 3)) for k in range(12)]
    family = ct.ProgramFamily(
        lambda lines, p: Fraction(argmax([a + b * p["t"] for a, b in lines]), 99),
        ct.Real("t", -9, 40),
    )
    dual = family.dual(tuple(lines))
    for t in (k / 11 - 9 for k in range(0, 539, 7)):
        values = [a + b * Fraction(t) for a, b in lines]
        assert dual.enclose_exact(t) == (Fraction(values.index(max(values)), 99),) * 2
