"""Expressions of one parameter as polynomials on an interval, with a proved error.

With t = m + r s on an interval of midpoint m and half width r, the theorem of Taylor says

    f(m + r s) = sum_{k < n} f^(k)(m) / k! r^k s^k + f^(n)(x) / n! r^n s^n

for some x of the interval. Truncated power series with ball coefficients give the first terms at m,
and, started from the ball of the whole interval in place of m, an enclosure of the last
coefficient for all x at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import flint
from flint import arb, arb_series

from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.expressions.evaluation import enclose, tape
from certune.pfaffian.expressions.expression import Expression

PRECISION = 128
TERMS = 21
LARGEST = 1e300


class Polynomial(NamedTuple):
    """Chebyshev coefficients on an interval, and a bound of the distance to the function."""

    coefficients: list[float]
    error: float


def constant_on(node: Expression, name: str, start: float, stop: float) -> Polynomial | None:
    """Return a constant and how far the expression strays from it; None if it is not enclosed.

    Parameters
    ----------
    node : Expression
        A function of the parameter `name`.
    name : str
        The parameter.
    start, stop : float
        The interval, ``start <= stop``.
    """
    with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
        return _rounded([_ball(node, name, arb(start).union(arb(stop)))], arb(0))


def bounds_on(node: Expression, name: str, start: float, stop: float) -> tuple[float, float] | None:
    """Return bounds of an expression on an interval, None if it is not enclosed.

    Parameters
    ----------
    node : Expression
        A function of the parameter `name`.
    name : str
        The parameter.
    start, stop : float
        The interval, ``start <= stop``.
    """
    with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
        ball = _ball(node, name, arb(start).union(arb(stop)))
        if not abs(ball) <= LARGEST:
            return None
        low, high = float(ball.lower()), float(ball.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _ball(node: Expression, name: str, interval: Any) -> Any:
    """Ball of the values at those points of the interval at which there is a value.

    A ball is a bit wider than the interval, and may so reach out of the domain of an operator at
    an end where the expression itself is defined.
    """
    values: dict[Expression, Any] = {}
    for item in tape(node):
        if item.name == name:
            values[item] = interval
        elif not item.parameters:
            values[item] = enclose(item, {}, PRECISION)
        else:
            assert item.operation is not None
            rule = item.operation.on_part or item.operation.on_balls
            values[item] = rule(*[values[argument] for argument in item.arguments])
    return values[node]


def polynomial_on(
    node: Expression, name: str, start: float, stop: float, error: float
) -> Polynomial | None:
    """Return the polynomial of lowest degree that is proved to be as close as asked for.

    Parameters
    ----------
    node : Expression
        A function of the parameter `name`.
    name : str
        The parameter.
    start, stop : float
        The interval, ``start < stop``.
    error : float
        Largest error of the truncation, positive; that of rounding is added to it.

    Returns
    -------
    Polynomial or None
        None if no polynomial of degree less than `TERMS` is proved to be so close.
    """
    with PRECISION_LOCK, flint.ctx.workprec(PRECISION), _terms(TERMS + 1):
        low, high = arb(start), arb(stop)
        half = (high - low) / 2
        remainders = _coefficients(node, name, low.union(high), half)
        if remainders is None:
            return None
        n = next((k for k in range(1, TERMS + 1) if abs(remainders[k]) <= error), None)
        if n is None:
            return None
        taylor = _coefficients(node, name, low + half, half)
        return None if taylor is None else _rounded(_in_chebyshev(taylor[:n]), remainders[n])


@contextmanager
def _terms(count: int) -> Iterator[None]:
    """Set the length at which series are cut off."""
    before = flint.ctx.cap
    flint.ctx.cap = count
    try:
        yield
    finally:
        flint.ctx.cap = before


def _coefficients(node: Expression, name: str, centre: Any, half: Any) -> list[Any] | None:
    """Coefficients of ``f(centre + half * s)`` in s, None if one of them is not enclosed."""
    count = flint.ctx.cap
    values: dict[Expression, Any] = {}
    try:
        for item in tape(node):
            if item.name == name:
                values[item] = arb_series([centre, half])
            elif not item.parameters:
                values[item] = arb_series([enclose(item, {}, PRECISION)])
            else:
                assert item.operation is not None
                values[item] = item.operation.on_series(*[values[a] for a in item.arguments])
    except (ValueError, ZeroDivisionError):
        return None
    series = values[node]
    found = [series[k] for k in range(count)]
    known = series.prec >= count and all(coefficient.is_finite() for coefficient in found)
    return found if known else None


def _in_chebyshev(powers: list[Any]) -> list[Any]:
    """Chebyshev coefficients of a polynomial in powers of s."""
    result = [arb(0) for _ in powers]
    for k, coefficient in enumerate(powers):
        for j, weight in _power_in_chebyshev(k):
            result[j] += coefficient * weight / 2**k
    return result


@cache
def _power_in_chebyshev(k: int) -> tuple[tuple[int, int], ...]:
    """Coefficients of 2^k s^k: from s = (z + 1/z) / 2, T_j(s) = (z^j + z^-j) / 2."""
    return tuple((j, math.comb(k, (k - j) // 2) * (2 if j else 1)) for j in range(k, -1, -2))


def _rounded(coefficients: list[Any], remainder: Any) -> Polynomial | None:
    """Round balls to floats; what is lost is added to the error, as |T_j| <= 1."""
    if not all(abs(coefficient) <= LARGEST for coefficient in coefficients):
        return None
    floats = [float(coefficient.mid()) for coefficient in coefficients]
    error = abs(remainder)
    for coefficient, rounded in zip(coefficients, floats, strict=True):
        error += abs(coefficient - arb(rounded))
    # A ball is turned into a float by truncation.
    bound = 0.0 if error == 0 else math.nextafter(float(error.upper()), math.inf)
    return Polynomial(floats, bound)
