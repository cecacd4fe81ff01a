"""Simplifications on construction: constants are folded where they stay rational.

A rule looks at the arguments of an operator and says what to make of them: None for the plain
expression, one of the arguments, a rational number, or another operator with arguments.  Rules
only use identities that hold wherever both sides are defined, except that 0 times anything is 0.
Numbers that could become too long stay expressions, which balls compare: a program that squares a
number sixty times would not end with the exact one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from certune.pfaffian.expressions.definedness import DivisionByZeroError, UndefinedError
from certune.pfaffian.expressions.operations import (
    ADD,
    DIVIDE,
    INTEGER_POWER,
    MULTIPLY,
    POWER,
    SQRT,
    SUBTRACT,
    Operation,
)

if TYPE_CHECKING:
    from certune.pfaffian.expressions.expression import Expression

Outcome: TypeAlias = "Expression | Fraction | tuple[Any, ...] | None"

# Bits of the numbers in an operation whose result is computed; it has no more than these.
_MOST_BITS = 1 << 17


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _are_short(u: Fraction, v: Fraction) -> bool:
    return _bits(u) + _bits(v) <= _MOST_BITS


def _add(u: Expression, v: Expression) -> Outcome:
    if u.value is not None:
        if v.value is not None:
            return u.value + v.value if _are_short(u.value, v.value) else None
        return v if u.value == 0 else None
    return u if v.value == 0 else None


def _subtract(u: Expression, v: Expression) -> Outcome:
    if u is v:
        return Fraction(0)
    if v.value is not None:
        if u.value is not None:
            return u.value - v.value if _are_short(u.value, v.value) else None
        return u if v.value == 0 else None
    return (MULTIPLY, -1, v) if u.value == 0 else None


def _multiply(u: Expression, v: Expression) -> Outcome:
    if v.value is not None:
        if u.value is None:
            return MULTIPLY, v, u  # numbers come first
        return u.value * v.value if _are_short(u.value, v.value) else None
    if u.value is None:
        return None
    if u.value in (0, 1):
        return v if u.value == 1 else u
    if v.operation is MULTIPLY and v.arguments[0].value is not None:
        factor = v.arguments[0].value
        if _are_short(u.value, factor):
            return MULTIPLY, u.value * factor, v.arguments[1]
    return None


def _divide(u: Expression, v: Expression) -> Outcome:
    if v.value is not None:
        if v.value == 0:
            raise DivisionByZeroError(f"the expression {u.to_text()} is divided by 0")
        return MULTIPLY, 1 / v.value, u
    return u if u.value == 0 else None


def _power(base: Expression, exponent: Expression) -> Outcome:
    if exponent.value is not None:
        if exponent.value.denominator == 1:
            return INTEGER_POWER, base, exponent
        if exponent.value == Fraction(1, 2):
            return SQRT, base
    if base.value is not None and base.value <= 0:
        raise UndefinedError(
            f"the power {base.to_text()}**({exponent.to_text()}) needs a base > 0 or an integer "
            "exponent"
        )
    return base if base.value == 1 else None


def _integer_power(base: Expression, exponent: Expression) -> Outcome:
    assert exponent.value is not None
    power = int(exponent.value)
    if power == 0:
        return Fraction(1)
    if power == 1:
        return base
    if base.value is None:
        return None
    if base.value == 0 and power < 0:
        raise DivisionByZeroError(f"0 has no power with the exponent {power}")
    return base.value**power if _bits(base.value) * abs(power) <= _MOST_BITS else None


def _sqrt(base: Expression) -> Outcome:
    if base.value is None:
        return None
    if base.value < 0:
        raise UndefinedError(f"the square root of {base.to_text()} is not real")
    top, bottom = (math.isqrt(part) for part in base.value.as_integer_ratio())
    return Fraction(top, bottom) if Fraction(top, bottom) ** 2 == base.value else None


RULES: dict[Operation, Callable[..., Outcome]] = {
    ADD: _add,
    SUBTRACT: _subtract,
    MULTIPLY: _multiply,
    DIVIDE: _divide,
    POWER: _power,
    INTEGER_POWER: _integer_power,
    SQRT: _sqrt,
}
