"""Identities that are proved, and differences that are not taken for zero."""

from fractions import Fraction

import pytest

from certune.pfaffian import (
    atan,
    constant,
    exp,
    is_zero,
    log,
    parameters,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)

a, b = parameters("a b")

IDENTITIES = [
    (a + b) ** 2 - a**2 - 2 * a * b - b**2,
    1 / (a - b) - 1 / (a + b) - 2 * b / (a**2 - b**2),
    exp(a + b) - exp(a) * exp(b),
    exp(a) * exp(-a) - 1,
    exp(3 * a) - exp(a) ** 3,
    exp(a / 2) ** 2 - exp(a),
    log(6 * a) - log(2) - log(3) - log(a),
    log(1 / a) + log(a),
    log(exp(a * b)) - a * b,
    a**b * a - a ** (b + 1),
    constant(6) ** a - constant(2) ** a * constant(3) ** a,
    constant(8) ** Fraction(1, 3) - 2,
    constant(12) ** Fraction(1, 2) - 2 * sqrt(3),
    sqrt(a) * sqrt(a) - a,
    sqrt(a) ** 3 - a * sqrt(a),
    a ** Fraction(2, 3) * a ** Fraction(1, 3) - a,
    sqrt(8 * a) - 2 * sqrt(2) * sqrt(a),
    tanh(a) - 2 * sigmoid(2 * a) + 1,
    sigmoid(a) + sigmoid(-a) - 1,
    softplus(a) - softplus(-a) - a,
    atan(a + b) - atan(b + a),
    1 / exp(a) - exp(-a),
]
DIFFERENT = [
    a - b,
    exp(a) - 1,
    exp(a) - exp(b),
    sqrt(2) - Fraction(141421356237, 10**11),
    log(a) - a,
    constant(2) ** a - constant(3) ** a,
    tanh(a) - sigmoid(a),
    atan(a) - a,
    a ** Fraction(1, 3) - sqrt(a),
]


@pytest.mark.parametrize("expression", IDENTITIES, ids=str)
def test_identities_are_proved(expression):
    assert is_zero(expression)
    assert expression.enclose({"a": Fraction(3, 7), "b": Fraction(5, 4)}, 256).contains(0)


@pytest.mark.parametrize("expression", DIFFERENT, ids=str)
def test_others_are_not(expression):
    assert not is_zero(expression)
    assert not expression.enclose({"a": Fraction(3, 7), "b": Fraction(5, 4)}, 256).contains(0)


def test_what_is_too_large_is_not_zero():
    assert not is_zero((a + b + 1) ** 60 - (a + b + 1) ** 60 * exp(a) / exp(a) + a ** (10**6))


def test_a_divisor_that_vanishes_is_an_error():
    with pytest.raises(ZeroDivisionError):
        is_zero(1 / ((a + b) - b - a))
