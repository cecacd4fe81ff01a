"""Where the operators of a program have no value: decided when they are applied.

Python raises an exception when a program divides by zero or takes the logarithm of a number that is
not positive.  On expressions that is a branch of the program like any other: whether a divisor is
zero is decided first, and the exception is raised on the branch on which it is.  Identities that
hold wherever both sides are defined, such as x/x = 1, can then be used without further ado.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from certune.errors import InputError
from certune.pfaffian.operations import DIVIDE, INTEGER_POWER, LOG, POWER, SQRT, Operation

if TYPE_CHECKING:
    from certune.pfaffian.expressions import Expression


class UndefinedError(InputError):
    """A program computes something that has no value for the parameters at hand."""


class DivisionByZeroError(UndefinedError, ZeroDivisionError):
    """A program divides by zero for the parameters at hand."""


NO_VALUE = (UndefinedError, ZeroDivisionError)
"""What ends a program that has no value; the latter also where Python itself divides."""


def named(error: UndefinedError | ZeroDivisionError, message: str) -> UndefinedError:
    """Return an error of the same kind that says more."""
    is_division = isinstance(error, ZeroDivisionError)
    return DivisionByZeroError(message) if is_division else UndefinedError(message)


def _divide(u: Expression, v: Expression) -> Fraction | None:
    if v.least < 1 and v == 0:
        raise DivisionByZeroError(f"{u.to_text()} is divided by {_named(v)}")
    return Fraction(1) if u is v else None


def _log(u: Expression) -> Fraction | None:
    if u.least < 1 and not u > 0:
        raise UndefinedError(f"log needs a number > 0, and {_named(u, 'is not positive')}")
    return None


def _sqrt(u: Expression) -> Fraction | None:
    if u.least < 0 and u < 0:
        raise UndefinedError(f"a square root needs a number >= 0, and {_named(u, 'is negative')}")
    return None


def _integer_power(base: Expression, exponent: Expression) -> Fraction | None:
    assert exponent.value is not None
    if exponent.value < 0 and base.least < 1 and base == 0:
        raise DivisionByZeroError(f"0 has no power {exponent.to_text()}: {_named(base)}")
    return None


def _power(base: Expression, exponent: Expression) -> Fraction | None:
    """Return the powers of 0; all others have a base > 0 or an integer exponent."""
    if base.least > 0:
        return None
    if exponent.value is not None and (exponent.value.denominator == 1 or exponent.value == _HALF):
        return None  # operators of their own
    if base > 0:
        return None
    if base < 0:
        raise UndefinedError(
            f"a power with the exponent {exponent.to_text()} needs a base >= 0, and "
            f"{_named(base, 'is negative')}"
        )
    if exponent < 0:
        raise DivisionByZeroError(f"0 has no power {exponent.to_text()}: {_named(base)}")
    return Fraction(exponent == 0)


def _named(node: Expression, fact: str = "is 0") -> str:
    if node.parameters:
        return f"{node.to_text()} {fact} there"
    return "0" if fact == "is 0" else f"{node.to_text()} {fact}"


_HALF = Fraction(1, 2)

GUARDS: dict[Operation, Callable[..., Fraction | None]] = {
    DIVIDE: _divide,
    LOG: _log,
    SQRT: _sqrt,
    POWER: _power,
    INTEGER_POWER: _integer_power,
}
"""For each partial operator: raises where it has no value, or returns the value at special points.

Called inside of programs only, so that comparisons are decided by whoever runs the program.
"""
