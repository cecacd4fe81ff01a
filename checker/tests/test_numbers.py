"""The normal form, against plain floats; signs on intervals, against points in them."""

import math
from fractions import Fraction

import pytest
from certune_check.decisions import Place, sign_at, simplest
from certune_check.numbers import PARAMETER, Number, Unsupported, ball, exp, log, number, power
from flint import arb, ctx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

T = PARAMETER
BASES = st.integers(1, 12)
SMALL = st.fractions(-3, 3, max_denominator=6)


@pytest.fixture(autouse=True)
def at_one_half(monkeypatch):
    """Comparisons that the arithmetic itself needs are those at t = 1/2."""
    monkeypatch.setattr(Number, "decide", lambda x: sign_at(x, Fraction(1, 2)), raising=False)


@pytest.mark.parametrize(
    "zero",
    [
        lambda: 3 * power(2, T) - 6 * power(2, T - 1),
        lambda: power(12, T) - power(4, T) * power(3, T),
        lambda: power(8, Fraction(1, 2)) - 2 * power(2, Fraction(1, 2)),
        lambda: log(12) - 2 * log(2) - log(3),
        lambda: (T + 1) * (T - 1) - T**2 + 1,
        lambda: exp(T + 1) * exp(-T) - exp(1),
        lambda: power(Fraction(2, 3), T) * power(Fraction(3, 2), T) - 1,
        lambda: (1 / (1 + T)) * 2 - 2 / (T + 1),
    ],
)
def test_what_is_zero_has_no_terms(zero):
    assert number(zero()).terms == {}


sums = st.lists(st.tuples(st.integers(-5, 5), BASES, SMALL), min_size=1, max_size=5)


def exponential_sum(parts):
    return sum((c * power(b, T * s) for c, b, s in parts), number(0))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sums, st.fractions(-2, 2, max_denominator=8))
def test_values_and_derivatives_are_those_of_floats(parts, t):
    x = exponential_sum(parts)
    ctx.prec = 128

    def plain(point):
        return sum(c * b ** (float(s) * point) for c, b, s in parts)

    size = sum(abs(c) * b ** abs(2 * float(s)) for c, b, s in parts) + 1
    value = x.enclose(ball(t), {})
    assert abs(float(value.mid()) - plain(float(t))) < 1e-9 * size
    assert (value - x.at(t).enclose(arb(0), {})).contains(0)
    slope = float(x.derivative().enclose(ball(t), {}).mid())
    step = 1e-5
    difference = (plain(float(t) + step) - plain(float(t) - step)) / (2 * step)
    assert abs(slope - difference) < 1e-3 * size * 50


@settings(max_examples=60, deadline=None)
@given(sums, SMALL, st.fractions(0, 3, max_denominator=20))
def test_a_sign_on_an_interval_holds_at_every_point(parts, low, width):
    x = exponential_sum(parts)
    if x.constant is not None or not width:
        return
    sign = Place(low, low + width).sign(x)
    for share in range(1, 16):
        t = low + width * Fraction(share, 16)
        assert sign is None or sign_at(x, t) == sign


def test_an_end_that_ties_leaves_the_interval_decided():
    """2^t against 1 + t is zero at 0 and 1, negative between, and positive outside."""
    x = power(2, T) - 1 - T
    half = Fraction(1, 2)
    places = [(Fraction(0), half / 2), (half, Fraction(1)), (Fraction(1), Fraction(3))]
    assert [Place(*ends).sign(x) for ends in places] == [-1, -1, 1]
    assert Place(Fraction(-2), Fraction(0)).sign(x) == 1
    assert Place(Fraction(0), Fraction(2)).sign(x) is None
    assert Place(Fraction(1), Fraction(1)).sign(x) == 0


@settings(max_examples=60, deadline=None)
@given(st.fractions(-5, 5), st.fractions(0, 2))
def test_the_simplest_fraction_is_the_simplest(low, width):
    found = simplest(low, low + width)
    assert low <= found <= low + width
    for denominator in range(1, min(found.denominator, 40)):
        assert math.ceil(low * denominator) > math.floor((low + width) * denominator)


@pytest.mark.parametrize("turned", [float, int, round, math.floor])
def test_a_number_that_depends_on_t_is_no_float(turned):
    with pytest.raises(Unsupported):
        turned(T + power(2, T))
