"""Signs of sums of radicals: known identities, near misses, and random sums against balls."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certune.exact import Radicals, sign_of_radicals
from certune.exact.radicals import _coprime_basis, is_zero

HALF = (Fraction(1, 2),)


def radicals(coefficients, bases, exponents, *, logarithm=False):
    as_tuples = tuple(tuple(map(Fraction, b if isinstance(b, tuple) else (b,))) for b in bases)
    return Radicals(tuple(coefficients), as_tuples, tuple(exponents), logarithm)


@pytest.mark.parametrize(
    ("number", "sign"),
    [
        (radicals((1, 1, -1), (2, 8, 18), HALF), 0),  # sqrt 2 + 2 sqrt 2 = 3 sqrt 2
        (radicals((1, 1, -1), (2, 8, 18 + Fraction(1, 10**60)), HALF), -1),
        (radicals((1, 1, -1), (2, 8, 18 - Fraction(1, 10**60)), HALF), 1),
        (radicals((1, 1, -1), (1, 2, 3), (Fraction(1),)), 0),
        (radicals((1, 1, -1), (1, 2, 3), (Fraction(2),)), -1),
        (radicals((1, -1, -1), (9, 16, 25), (Fraction(-1, 2),)), -1),  # 1/3 - 1/4 - 1/5
        (radicals((20, -15, -12), (9, 16, 25), (Fraction(-1, 2),)), 1),  # 20/3 - 15/4 - 12/5
        (radicals((3, -4), (9, 16), (Fraction(-1, 2),)), 0),  # 3/3 - 4/4
        (radicals((1, -1), ((2, 6), (3, 4)), (Fraction(0.1), Fraction(0.1))), 0),
        (radicals((1, -1), ((2, 6), (3, 4)), (Fraction(0.1), Fraction(0.2))), 1),
        (radicals((1, 1, -1), (2, 8, 16), (Fraction(1),), logarithm=True), 0),
        (radicals((2, -1), (3, 10), (Fraction(1),), logarithm=True), -1),
        (radicals((1, -1), (Fraction(0.1), Fraction(0.1)), (Fraction(0.3),)), 0),
    ],
)
def test_known_signs(number, sign):
    assert sign_of_radicals(number) == sign


def test_difference_far_below_double_precision():
    """sqrt(a) + sqrt(b) against sqrt(c): c is the float next to the exact value."""
    close = radicals(
        (1, 1, -1), (2, 3, Fraction(5) + Fraction(2) * Fraction(2449489742783178, 10**15)), HALF
    )
    assert sign_of_radicals(close) in (-1, 1)
    assert not is_zero(close)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 40)), min_size=1, max_size=5),
    st.sampled_from([Fraction(1, 2), Fraction(1, 4), Fraction(3, 2), Fraction(-1), Fraction(2)]),
)
def test_sign_agrees_with_a_wide_ball(terms, exponent):
    number = radicals([c for c, _ in terms], [b for _, b in terms], (exponent,))
    sign = sign_of_radicals(number)
    ball = number.enclose(4000)
    if sign == 0:
        assert ball.contains(0)
    elif sign == 1:
        assert ball > 0
    else:
        assert sign == -1 and ball < 0


@given(st.lists(st.integers(2, 10**6), min_size=1, max_size=6))
def test_coprime_basis_generates_its_values(values):
    from math import gcd

    basis = _coprime_basis(values)
    assert all(gcd(a, b) == 1 for i, a in enumerate(basis) for b in basis[:i])
    for value in values:
        for factor in basis:
            while value % factor == 0:
                value //= factor
        assert value == 1


def test_long_exponents_that_add_up_to_zero():
    """At exponents .7, -1.2 and .5 (floats, which add up to exactly 0) scaling changes nothing."""
    exponents = tuple(Fraction(e) for e in (0.7, -1.2, 0.5))
    assert sum(exponents) == 0
    bases = (Fraction(3, 2), Fraction(7), Fraction(5, 3))
    doubled = tuple(2 * base for base in bases)
    assert sign_of_radicals(Radicals((1, -1), (bases, doubled), exponents)) == 0
    tripled = (6 * bases[0], 6 * bases[1], 5 * bases[2])
    assert sign_of_radicals(Radicals((1, -1), (bases, tripled), exponents)) in (-1, 1)
    for logarithm in (False, True):
        assert is_zero(Radicals((1, -1), (bases, doubled), exponents, logarithm))
        assert not is_zero(Radicals((1, -1), (bases, tripled), exponents, logarithm))


def test_long_exponents_with_rational_quotients():
    """2^(e + 3) = 8 * 2^e, and 4^(e / 2) = 2^e, also where e has 52 bits."""
    e = Fraction(0.7)
    number = Radicals(
        (8, -1), ((Fraction(2), Fraction(1)), (Fraction(2), Fraction(2))), (e, Fraction(3))
    )
    assert sign_of_radicals(number) == 0
    number = Radicals((1, -1), ((Fraction(4), Fraction(1)), (Fraction(1), Fraction(2))), (e / 2, e))
    assert sign_of_radicals(number) == 0
