"""Certified numbers: balls of python-flint, and their conversion to the safe side.

Counts of cells reach 2^(10^9) and more.  A ball has an exponent of any size, so that they can be
compared without logarithms; only the 192 leading bits are kept, and what they leave open is never
decided in favour of a smaller bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from certune.checks import as_float
from certune.errors import ParameterError
from certune.exact.precision import PRECISION_LOCK

PRECISION = 192

Real = int | float | Fraction


@contextmanager
def certified() -> Iterator[None]:
    """Compute balls at the precision of this package within the block."""
    with PRECISION_LOCK, ctx.workprec(PRECISION):
        yield


def ball(number: Real) -> Any:
    """Return a ball that contains a number; floats count as the dyadic rationals they are."""
    if isinstance(number, Fraction):
        return arb(fmpq(number.numerator, number.denominator))
    return arb(number)


def log2(number: Any) -> Any:
    """Logarithm to base 2 of a positive number or ball, as a ball."""
    return arb(number).log() / arb(2).log()


def upper_float(number: Any) -> float:
    """Return a float, the first or the second, that is certainly no less than a ball; maybe inf."""
    nearest = float(arb(number).upper())
    return nearest if arb(nearest) >= number else math.nextafter(nearest, math.inf)


def upper_integer(number: Any) -> int:
    """Largest whole number that a ball may reach."""
    mantissa, exponent = (int(part) for part in arb(number).upper().man_exp())
    return mantissa << exponent if exponent >= 0 else mantissa >> -exponent


def non_negative(name: str, number: object) -> Real:
    """Return a finite number >= 0, or raise `ParameterError`."""
    value = _finite(name, number)
    if value < 0:
        raise ParameterError(f"{name} must not be negative, got {number!r}")
    return value


def positive(name: str, number: object) -> Real:
    """Return a finite number > 0, or raise `ParameterError`."""
    value = _finite(name, number)
    if value <= 0:
        raise ParameterError(f"{name} must be positive, got {number!r}")
    return value


def _finite(name: str, number: object) -> Real:
    if isinstance(number, bool) or not isinstance(number, (int, float, Fraction)):
        raise ParameterError(f"{name} must be a number, got {number!r}")
    if not math.isfinite(as_float(name, number)):
        raise ParameterError(f"{name} must be finite, got {number!r}")
    return number


def probability(name: str, number: object) -> Real:
    """Return a number strictly between 0 and 1, or raise `ParameterError`."""
    value = positive(name, number)
    if value >= 1:
        raise ParameterError(f"{name} must lie strictly between 0 and 1, got {number!r}")
    return value


# Numbers beyond 2**KEPT_BITS are found to a relative 2**-KEPT_BITS.
KEPT_BITS = 64


def first_true(condition: Callable[[int], bool]) -> int:
    """Return some n >= 1 with `condition(n)` true and, if 1 < n < 2**64, `condition(n - 1)` false.

    For a condition that stays true once it is, this is the first n, or one that is larger by a
    factor of at most 1 + 2**-63. Doubling, from 2**64 on of the exponent, and bisection:
    O(log n) calls up to there, O(log log n) more beyond.
    """
    low, high = 0, 1
    while not condition(high):
        low, high = high, 2 * high if high < 2**KEPT_BITS else high * high
    # Powers of two first: what is left then is between n and 2 n.
    while high > 2 * low > 2**KEPT_BITS:
        middle = 1 << (low.bit_length() + high.bit_length() - 1) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    while high - low > max(1, low >> KEPT_BITS):
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high
