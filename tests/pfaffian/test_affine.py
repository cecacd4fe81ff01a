"""Straight lines and affine functions: signs, roots and ranges against rational arithmetic."""

import math
from fractions import Fraction

import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from certune.pfaffian import exp, parameter
from certune.pfaffian.signs.affine import affine_difference, affine_form, place_of
from certune.pfaffian.signs.on_line import Line
from certune.pfaffian.signs.ranges import range_on

T = parameter("t")
U = parameter("u")
NUMBERS = st.one_of(st.integers(-20, 20), st.floats(-5, 5), st.fractions(-3, 3, max_denominator=50))


@settings(max_examples=80, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_signs_of_lines_are_exact(a, b, c, d):
    first, second = a + b * T, c + d * T
    if first is second:
        return
    cells = Line("t").difference_map(first, second, -1.0, 2.0).cells
    assert cells[0].low == -1.0 and cells[-1].high == 2.0
    a, b, c, d = map(Fraction, (a, b, c, d))
    for cell in cells:
        for t in {cell.low, cell.high, 0.5 * cell.low + 0.5 * cell.high}:
            value = a - c + (b - d) * Fraction(t)
            if cell.sign is not None:
                assert (value > 0) - (value < 0) == cell.sign
        if cell.root is not None:
            assert a - c + (b - d) * Fraction(cell.root) == 0
        elif cell.sign is None and b != d:
            assert cell.low < (c - a) / (b - d) < cell.high
            assert cell.high - cell.low <= 64 * math.ulp(max(abs(cell.low), abs(cell.high), 1e-6))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 99), st.integers(2, 99), st.integers(1, 99), st.integers(2, 99))
def test_scores_with_exponents_have_one_root(v, s, w, r):
    if s == r:
        return
    cells = Line("t").difference_map(v / s**T, w / r**T, -3.0, 3.0).cells
    root = (arb(v) / w).log() / (arb(s) / r).log()
    for cell in cells:
        if cell.sign is None:
            assert not (root < cell.low or root > cell.high)
            continue
        middle = 0.5 * cell.low + 0.5 * cell.high
        value = arb(v) / arb(s) ** arb(middle) - arb(w) / arb(r) ** arb(middle)
        assert value * cell.sign > 0
    n_brackets = sum(cell.sign is None for cell in cells)
    assert n_brackets == int(root > -3 and root < 3)


@settings(max_examples=40, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS)
def test_ranges_on_boxes_have_the_exact_ends(a, b, c):
    node = a + b * T - c * U
    if not node.parameters:
        return
    found = range_on(node, {"t": (-1.0, 2.0), "u": (0.25, 3.0)})
    a, b, c = map(Fraction, (a, b, c))
    corners = [a + b * Fraction(t) - c * Fraction(u) for t in (-1, 2) for u in (0.25, 3)]
    for end, exact in ((found.ball.lower(), min(corners)), (found.ball.upper(), max(corners))):
        assert abs(float(end) - float(exact)) <= 1e-8 * float(1 + abs(a) + 3 * abs(b) + 3 * abs(c))


def test_what_is_affine_and_what_is_not():
    assert affine_form(2 * T + 3 - T / 4).slopes["t"] == Fraction(7, 4)
    assert affine_form((T + U) * 5 - 1).offset == -1
    assert not affine_form(T * exp(parameter("z") * 0 + 1)).is_exact
    for node in (T * T, exp(T), T / U, 1 / T):
        assert affine_form(node) is None
    assert affine_difference(exp(2 * T), exp(T + 1)).slopes["t"] == 1
    assert affine_difference(exp(2 * T), T + 1) is None


@pytest.mark.parametrize("root", [Fraction(1, 3), Fraction(-5), Fraction(0), Fraction(10) ** 300])
def test_places_of_roots(root):
    place = place_of(root)
    assert place.below < root < place.above
    assert (place.exact is not None) == (Fraction(float(root)) == root)
    assert place_of(Fraction(10) ** 400) is None
