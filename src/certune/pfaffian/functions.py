"""The Pfaffian functions a program may use, on expressions and exact numbers."""

from __future__ import annotations

from typing import Any

from certune.pfaffian import operations as op
from certune.pfaffian.expressions import Expression, apply


def exp(u: Any) -> Expression:
    """Return the exponential of an expression or number."""
    return apply(op.EXP, u)


def log(u: Any) -> Expression:
    """Return the natural logarithm of an expression or number > 0."""
    return apply(op.LOG, u)


def power(base: Any, exponent: Any) -> Expression:
    """Return base**exponent of expressions or numbers, the base exactly as given.

    ``base ** exponent`` means the same, except that Python 3.11 rounds a base of type Fraction to
    a float before the expression sees it.
    """
    return apply(op.POWER, base, exponent)


def sqrt(u: Any) -> Expression:
    """Return the square root of an expression or number >= 0."""
    return apply(op.SQRT, u)


def atan(u: Any) -> Expression:
    """Return the inverse tangent of an expression or number."""
    return apply(op.ATAN, u)


def tanh(u: Any) -> Expression:
    """Return the hyperbolic tangent of an expression or number."""
    return apply(op.TANH, u)


def sigmoid(u: Any) -> Expression:
    """Return 1 / (1 + exp(-u)) of an expression or number."""
    return apply(op.SIGMOID, u)


def softplus(u: Any) -> Expression:
    """Return log(1 + exp(u)) of an expression or number."""
    return apply(op.SOFTPLUS, u)
