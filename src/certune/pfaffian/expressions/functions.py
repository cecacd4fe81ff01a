"""The Pfaffian functions a program may use, on expressions, exact numbers and vectors of these."""

from __future__ import annotations

from typing import Any

from certune.pfaffian.expressions import operations as op
from certune.pfaffian.expressions.expression import apply
from certune.pfaffian.expressions.plain import PlainFloat
from certune.pfaffian.expressions.vectors import Vector


def _function(operation: op.Operation, u: Any) -> Any:
    if isinstance(u, Vector):
        return u.apply(operation)
    return u.function(operation.on_floats) if isinstance(u, PlainFloat) else apply(operation, u)


def exp(u: Any) -> Any:
    """Return the exponential of an expression or number."""
    return _function(op.EXP, u)


def log(u: Any) -> Any:
    """Return the natural logarithm of an expression or number > 0."""
    return _function(op.LOG, u)


def power(base: Any, exponent: Any) -> Any:
    """Return base**exponent of expressions or numbers, the base exactly as given.

    ``base ** exponent`` means the same, except that Python 3.11 rounds a base of type Fraction to
    a float before the expression sees it.
    """
    kinds = (PlainFloat, Vector)
    if isinstance(base, kinds) or isinstance(exponent, kinds):
        return base**exponent
    return apply(op.POWER, base, exponent)


def sqrt(u: Any) -> Any:
    """Return the square root of an expression or number >= 0."""
    return _function(op.SQRT, u)


def atan(u: Any) -> Any:
    """Return the inverse tangent of an expression or number."""
    return _function(op.ATAN, u)


def tanh(u: Any) -> Any:
    """Return the hyperbolic tangent of an expression or number."""
    return _function(op.TANH, u)


def sigmoid(u: Any) -> Any:
    """Return 1 / (1 + exp(-u)) of an expression or number."""
    return _function(op.SIGMOID, u)


def softplus(u: Any) -> Any:
    """Return log(1 + exp(u)) of an expression or number."""
    return _function(op.SOFTPLUS, u)
