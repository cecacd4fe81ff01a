"""Functions of one parameter that are straight lines: their one root without a search.

Scores a + b t, and logarithms of scores such as v / s^t, differ by a straight line.  Its
coefficients are rational numbers, or balls; a rational root is known exactly, any other is
enclosed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

from flint import arb

from certune.pfaffian.evaluation import ball_of, ball_sign, enclose
from certune.pfaffian.expressions import Expression
from certune.pfaffian.graph import postorder
from certune.pfaffian.operations import ADD, DIVIDE, MULTIPLY, SUBTRACT
from certune.pfaffian.scaling import is_positive, logarithm

PRECISION = 80


class Affine(NamedTuple):
    """The function offset + slope t; each coefficient is a fraction or a ball."""

    offset: Any
    slope: Any

    def root(self) -> Fraction | Any | None:
        """Return the one root as a fraction or a ball, None if there is none for sure."""
        if isinstance(self.slope, Fraction) and isinstance(self.offset, Fraction):
            return -self.offset / self.slope if self.slope else None
        slope = _as_ball(self.slope)
        root = -_as_ball(self.offset) / slope
        return root if ball_sign(slope) in (-1, 1) and root.is_finite() else None


class _Side(NamedTuple):
    """One side of a comparison: itself and its logarithm as straight lines, where they are."""

    node: Expression
    plain: Affine | None
    scaled: Affine | None


class AffineForms:
    """The sides of comparisons along one line, each looked at once.

    Parameters
    ----------
    name : str
        The parameter that varies.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._sides: dict[int, _Side] = {}  # by address: the side keeps its expression alive
        self._forms: dict[Expression, Affine | None] = {}

    def difference(self, first: Expression, second: Expression) -> Affine | None:
        """Return a straight line with the sign of ``first - second``, None if there is none.

        To be called at the precision of balls that is wanted.
        """
        mine, theirs = self._side(first), self._side(second)
        if mine.scaled is not None and theirs.scaled is not None:
            return _combined(mine.scaled, theirs.scaled, _minus)
        if mine.plain is not None and theirs.plain is not None:
            return _combined(mine.plain, theirs.plain, _minus)
        return None

    def _side(self, node: Expression) -> _Side:
        known = self._sides.get(id(node))
        if known is None:
            scaled = self._form(logarithm(node)) if is_positive(node) else None
            known = self._sides[id(node)] = _Side(node, self._form(node), scaled)
        return known

    def _form(self, node: Expression) -> Affine | None:
        for item in postorder([node]):
            if item not in self._forms:
                self._forms[item] = self._composed(item)
        return self._forms[node]

    def _composed(self, item: Expression) -> Affine | None:
        if not item.parameters:
            exact = item.value is not None
            return Affine(item.value if exact else enclose(item, {}, PRECISION), Fraction(0))
        if item.name is not None:
            return Affine(Fraction(0), Fraction(1)) if item.name == self._name else None
        parts = [self._forms[argument] for argument in item.arguments]
        if len(parts) != 2 or parts[0] is None or parts[1] is None:
            return None
        first, second = parts[0], parts[1]
        left, right = (bool(argument.parameters) for argument in item.arguments)
        if item.operation is ADD:
            return _combined(first, second, _plus)
        if item.operation is SUBTRACT:
            return _combined(first, second, _minus)
        if item.operation is MULTIPLY and not (left and right):
            line, factor = (first, second) if left else (second, first)
            return Affine(_times(line.offset, factor.offset), _times(line.slope, factor.offset))
        if item.operation is DIVIDE and not right and ball_sign(_as_ball(second.offset)):
            return Affine(_over(first.offset, second.offset), _over(first.slope, second.offset))
        return None


def _as_ball(number: Any) -> Any:
    return ball_of(number) if isinstance(number, Fraction) else number


def _combined(first: Affine, second: Affine, operation: Any) -> Affine:
    return Affine(operation(first.offset, second.offset), operation(first.slope, second.slope))


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) == isinstance(b, Fraction):
        return a + b
    return _as_ball(a) + _as_ball(b)


def _minus(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) == isinstance(b, Fraction):
        return a - b
    return _as_ball(a) - _as_ball(b)


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) == isinstance(b, Fraction):
        return a * b
    if a == 0 or b == 0:
        return Fraction(0)
    return _as_ball(a) * _as_ball(b)


def _over(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) == isinstance(b, Fraction):
        return a / b
    return Fraction(0) if isinstance(a, Fraction) and a == 0 else _as_ball(a) / _as_ball(b)


class RootPlace(NamedTuple):
    """Where the root of a straight line lies among the floats.

    Parameters
    ----------
    below, above : float
        Floats with the root strictly between them.
    exact : float or None
        The root, if it is a float.
    """

    below: float
    above: float
    exact: float | None


def place_of(root: Any) -> RootPlace | None:
    """Return two close floats around a root, None if they are not found at once."""
    if isinstance(root, Fraction):
        if abs(root) > 2**1000:
            return None
        nearest = root.numerator / root.denominator
        if Fraction(nearest) == root:
            neighbours = math.nextafter(nearest, -math.inf), math.nextafter(nearest, math.inf)
            return RootPlace(*neighbours, nearest)
    else:
        nearest = float(root.mid())
        if not math.isfinite(nearest):
            return None
    # The nearest float is off by less than one unit, a ball of 80 bits by less than a few.
    for units in (1, 4, 16):
        reach = units * math.ulp(nearest)
        below, above = nearest - reach, nearest + reach
        if _is_between(below, root, above):
            return RootPlace(below, above, None)
    return None


def _is_between(below: float, root: Any, above: float) -> bool:
    if isinstance(root, Fraction):
        return below < root < above
    return bool(arb(below) < root) and bool(root < arb(above))
