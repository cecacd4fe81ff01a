"""Sorts and choices along a line, kept from pass to pass, against rational arithmetic."""

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.pfaffian import argmax, argsort

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
