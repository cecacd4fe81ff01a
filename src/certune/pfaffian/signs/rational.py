"""Rational functions of one parameter: their signs from exact polynomials.

Intervals cannot separate the two sides of a root of higher order, such as that of (1 - 3 a)^4: the
closer they come, the more of them stay open.  A rational function is a quotient of polynomials with
rational coefficients.  Those have finitely many roots, which are isolated after multiple ones are
made simple, and between two neighbours the sign is that at any point.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import flint
from flint import fmpq, fmpq_poly, fmpz_poly

from certune.exact.dyadics import floats_between
from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.expressions.evaluation import memory_of
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.operations import ADD, DIVIDE, INTEGER_POWER, MULTIPLY, SUBTRACT
from certune.pfaffian.signs.affine import RootPlace, place_of
from certune.pfaffian.signs.cells import Cell

# Larger polynomials are left to intervals.
_LARGEST_DEGREE = 64
_MOST_DIGITS = 20_000
_PRECISION = 160
# Floats around a root that may be the root itself.
_MOST_FLOATS = 8

_X = fmpq_poly([0, 1])
_ARITHMETIC = (None, ADD, SUBTRACT, MULTIPLY, DIVIDE, INTEGER_POWER)


class _Fraction(NamedTuple):
    """A quotient of polynomials."""

    top: fmpq_poly
    bottom: fmpq_poly


class _NoPolynomial(Exception):
    """The expression is not rational, or too large."""


def rational_signs(node: Expression, low: float, high: float) -> list[Cell] | None:
    """Return the signs of a rational function of one parameter on an interval.

    Parameters
    ----------
    node : Expression
        The function.
    low, high : float
        The interval.

    Returns
    -------
    list of Cell or None
        From left to right, each beginning where the last one ends, brackets between certain ones;
        None if the function is not rational, or too large.

    Examples
    --------
    >>> from certune.pfaffian import parameter
    >>> from certune.pfaffian.signs.rational import rational_signs
    >>> a = parameter("a")
    >>> [cell.sign for cell in rational_signs((1 - 4 * a) ** 3 * (2 - a) ** 2, 0.0, 3.0)]
    [1, None, -1, None, -1]
    """
    try:
        whole, poles = _polynomials(node)
        places = _places(whole.top * whole.bottom * poles, low, high)
    except _NoPolynomial:
        return None
    brackets = [_bracket(place, whole.top, poles, low, high) for place in places]
    return _between(brackets, whole.top * whole.bottom, low, high)


def is_rational(node: Expression) -> bool:
    """Tell whether an expression is a rational function with rational coefficients."""
    memory = memory_of(node)
    if "is rational" not in memory:
        memory["is rational"] = all(item.operation in _ARITHMETIC for item in postorder([node]))
    return bool(memory["is rational"])


def is_root(node: Expression, t: float) -> bool:
    """Tell whether a rational function of one parameter is 0 at a float, and defined there."""
    numerator, denominator = t.as_integer_ratio()
    place = fmpq(numerator, denominator)
    known: dict[Expression, fmpq] = {}
    try:
        for item in postorder([node]):
            known[item] = _value(item, place, known)
    except ZeroDivisionError:
        return False
    return bool(known[node] == 0)


def _value(item: Expression, place: fmpq, known: dict[Expression, fmpq]) -> fmpq:
    if item.value is not None:
        return fmpq(item.value.numerator, item.value.denominator)
    if item.name is not None:
        return place
    first, second = (known[argument] for argument in item.arguments)
    if item.operation is ADD:
        return first + second
    if item.operation is SUBTRACT:
        return first - second
    if item.operation is MULTIPLY:
        return first * second
    if item.operation is DIVIDE:
        return first / second
    assert item.operation is INTEGER_POWER
    return first ** int(second)


def _polynomials(node: Expression) -> tuple[_Fraction, fmpq_poly]:
    """The function as a quotient, and a polynomial that vanishes wherever a divisor does."""
    known: dict[Expression, _Fraction] = {}
    poles = fmpq_poly([1])
    for item in postorder([node]):
        parts = [known[argument] for argument in item.arguments]
        if item.operation is DIVIDE or _is_negative_power(item):
            divisor = parts[-1] if item.operation is DIVIDE else parts[0]
            if divisor.top.degree() > 0:
                poles = _limited(poles * divisor.top)
        known[item] = _composed(item, parts)
    return known[node], poles


def _is_negative_power(item: Expression) -> bool:
    if item.operation is not INTEGER_POWER:
        return False
    power = item.arguments[1].value
    return power is not None and power < 0


def _composed(item: Expression, parts: Sequence[_Fraction]) -> _Fraction:
    one = fmpq_poly([1])
    if item.value is not None:
        return _Fraction(fmpq_poly([fmpq(item.value.numerator, item.value.denominator)]), one)
    if item.name is not None:
        return _Fraction(_X, one)
    if item.operation is INTEGER_POWER:
        power = item.arguments[1].value
        assert power is not None
        (top, bottom), count = parts[0], abs(int(power))
        if count * max(top.degree(), bottom.degree(), 1) > _LARGEST_DEGREE:
            raise _NoPolynomial
        top, bottom = (top, bottom) if power >= 0 else (bottom, top)
        return _reduced(top**count, bottom**count)
    if item.operation not in (ADD, SUBTRACT, MULTIPLY, DIVIDE):
        raise _NoPolynomial
    (first, below), (second, under) = parts
    if item.operation is MULTIPLY:
        return _reduced(first * second, below * under)
    if item.operation is DIVIDE:
        return _reduced(first * under, below * second)
    if item.operation is SUBTRACT:
        second = -second
    if below == under:
        return _reduced(first + second, below)
    return _reduced(first * under + second * below, below * under)


def _reduced(top: fmpq_poly, bottom: fmpq_poly) -> _Fraction:
    if bottom.degree() < 0:
        raise _NoPolynomial
    if bottom.degree() > 0:
        common = top.gcd(bottom)
        if common.degree() > 0:
            top, bottom = top // common, bottom // common
    return _Fraction(_limited(top), _limited(bottom))


def _limited(polynomial: fmpq_poly) -> fmpq_poly:
    if (
        polynomial.degree() > _LARGEST_DEGREE
        or polynomial.numer().height_bits() + polynomial.denom().height_bits() > _MOST_DIGITS
    ):
        raise _NoPolynomial
    return polynomial


def _places(product: fmpq_poly, low: float, high: float) -> list[RootPlace]:
    """The real roots of a polynomial in an interval, from left to right."""
    if product.degree() < 1:
        return []
    simple = fmpz_poly([1])
    for factor, _ in product.numer().factor_squarefree()[1]:
        simple *= factor
    places = []
    with PRECISION_LOCK, flint.ctx.workprec(_PRECISION):
        # Real roots of polynomials without multiple ones have the imaginary part 0 exactly.
        found: list[Any] = simple.complex_roots()
        roots = [root.real for root, _ in found if root.imag == 0]
    for root in roots:
        place = place_of(root)
        if place is None:
            raise _NoPolynomial
        if place.above >= low and place.below <= high:
            places.append(place)
    return sorted(places)


def _bracket(place: RootPlace, top: fmpq_poly, poles: fmpq_poly, low: float, high: float) -> Cell:
    """A bracket of floats, the neighbours of the root if that is a float."""
    for t in (place.below, *floats_between(place.below, place.above, _MOST_FLOATS), place.above):
        is_pole = _sign(poles, t) == 0
        if is_pole or _sign(top, t) == 0:
            below, above = math.nextafter(t, -math.inf), math.nextafter(t, math.inf)
            root = None if is_pole or not low <= t <= high else t + 0.0
            return Cell(max(below, low), min(above, high), None, root)
    return Cell(max(place.below, low), min(place.above, high), None)


def _between(
    brackets: list[Cell], product: fmpq_poly, low: float, high: float
) -> list[Cell] | None:
    """Brackets that do not meet, with the certain stretches between them."""
    joined: list[Cell] = []
    for bracket in brackets:
        if bracket.low >= bracket.high:
            # A root beside the interval has no points in it.
            continue
        if joined and bracket.low <= joined[-1].high:
            joined[-1] = Cell(joined[-1].low, max(joined[-1].high, bracket.high), None)
        else:
            joined.append(bracket)
    found: list[Cell] = []
    ends = [low, *itertools.chain.from_iterable((b.low, b.high) for b in joined), high]
    for number, (first, last) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
        if first < last:
            sign = _sign(product, first)
            if sign != _sign(product, last):
                return None
            found.append(Cell(first, last, sign))
        if number < len(joined):
            found.append(joined[number])
    # A root is told between certain cells only, or beside one at an end.
    return found if len(found) > 1 else [cell._replace(root=None) for cell in found]


def _sign(polynomial: fmpq_poly, t: float) -> int:
    point = Fraction(t)
    value = polynomial(fmpq(point.numerator, point.denominator))
    return int(value > 0) - int(value < 0)
