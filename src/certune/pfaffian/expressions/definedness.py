"""Where the operators of a program have no value: decided when they are applied.

Python raises an exception when a program divides by zero or takes the logarithm of a number that is
not positive.  On expressions that is a branch of the program like any other: whether a divisor is
zero is decided first, and the exception is raised on the branch on which it is.  Identities that
hold wherever both sides are defined, such as x/x = 1, can then be used without further ado.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from certune.errors import InputError
from certune.pfaffian.expressions.operations import (
    DIVIDE,
    INTEGER_POWER,
    LOG,
    POWER,
    SQRT,
    Operation,
)

if TYPE_CHECKING:
    from certune.pfaffian.expressions.expression import Expression


class UndefinedError(InputError):
    """A program computes something that has no value for the parameters at hand."""


class DivisionByZeroError(UndefinedError, ZeroDivisionError):
    """A program divides by zero for the parameters at hand."""


NO_VALUE = (UndefinedError, ZeroDivisionError)
"""What ends a program that has no value; the latter also where Python itself divides."""


def without_value(
    error: UndefinedError | ZeroDivisionError, place: Mapping[str, str]
) -> UndefinedError:
    """Return an error that says where a program has no value.

    Parameters
    ----------
    error : UndefinedError or ZeroDivisionError
        What the program ended with. Its attribute ``settings``, if it has one, has values of
        discrete parameters, which go before ranges of the same names.
    place : mapping of str to str
        Where that was, by the name of the parameter: ``"= 0.5"``, ``"from 0.0 to 1.0"``.
    """
    settings = {name: f"= {value!r}" for name, value in getattr(error, "settings", {}).items()}
    everywhere = {**place, **settings}
    is_point = all(words.startswith("=") for words in everywhere.values())
    where = (", " if is_point else " and ").join(map(" ".join, everywhere.items()))
    advice = "choose a range without these points, or let the program test for them"
    if is_point:
        advice = "leave the point out of the range, or let the program test for it"
    if settings:
        advice = "let the program test for this setting, and return its worst utility there"
    return named(
        error,
        f"the program has no value {'at' if is_point else 'for'} {where}: {error}; {advice}",
    )


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
