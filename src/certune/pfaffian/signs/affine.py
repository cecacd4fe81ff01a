"""Functions that are affine in the parameters: signs and roots without a search.

Scores a + b t, and logarithms of scores such as v / s^t, differ by an affine function.  Its
coefficients are rational numbers, or balls; on a box its range is known without overestimation,
along a line a rational root is known exactly, and any other is enclosed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import flint
from flint import arb

from certune.exact.precision import PRECISION_LOCK
from certune.kernels.programs import Coefficients
from certune.pfaffian.expressions.evaluation import ball_of, ball_sign, enclose, memory_of
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.normal_form import is_zero
from certune.pfaffian.expressions.operations import ADD, DIVIDE, EXP, MULTIPLY, POWER, SUBTRACT
from certune.pfaffian.expressions.scaling import is_positive, logarithm

# Two limbs of balls, as 80 bits would take, for lines of twice the digits of floats.
PRECISION = 120


class Affine(NamedTuple):
    """The function offset + sum of slopes times parameters; coefficients are fractions or balls."""

    offset: Any
    slopes: dict[str, Any]

    @property
    def is_exact(self) -> bool:
        """Whether all coefficients are rational numbers."""
        return all(isinstance(number, Fraction) for number in (self.offset, *self.slopes.values()))

    def slope_sign(self, name: str) -> int | None:
        """Return the sign of a slope, None if it is not known."""
        slope = self.slopes.get(name, Fraction(0))
        return (slope > 0) - (slope < 0) if isinstance(slope, Fraction) else ball_sign(slope)

    def root(self, name: str) -> Fraction | Any | None:
        """Return the root along a parameter as a fraction or a ball, None if it is not known."""
        slope = self.slopes.get(name, Fraction(0))
        if self.slope_sign(name) not in (-1, 1):
            return None
        if isinstance(slope, Fraction) and isinstance(self.offset, Fraction):
            return -self.offset / slope
        root = -as_number_ball(self.offset) / as_number_ball(slope)
        return root if root.is_finite() else None

    def sign_on(self, ranges: Mapping[str, tuple[float, float]]) -> tuple[int | None, bool]:
        """Return the sign on a box by rounded coefficients, and whether that settles it.

        The sign is None where both signs occur.
        """
        low = high = nearest(self.offset)
        size = abs(low)
        for name, slope in self.slopes.items():
            number, (first, last) = nearest(slope), ranges[name]
            ends = number * first, number * last
            low, high = low + min(ends), high + max(ends)
            size += max(map(abs, ends))
        # Each coefficient is off by less than two units of roundoff, each product and sum by one;
        # there are fewer than a hundred of them, or nothing is settled.
        error = 2.0**-44 * size + 2.0**-900
        if not (math.isfinite(size) and len(self.slopes) < 100):
            return None, False
        if low > error or high < -error:
            return (1 if low > error else -1), True
        return None, low < -error and high > error

    def minus(self, other: Affine) -> Affine:
        """Return the difference of two affine functions."""
        return _combined(self, other, _minus)

    def plus(self, other: Affine) -> Affine:
        """Return the sum of two affine functions."""
        return _combined(self, other, _plus)

    def times(self, factor: Fraction) -> Affine:
        """Return a multiple."""
        return _scaled(self, factor, _times)

    def highest_on(self, ranges: Mapping[str, tuple[float, float]]) -> Any:
        """Return the largest value on a box as a fraction, or a ball with an upper bound of it."""
        highest = self.offset
        for name, slope in self.slopes.items():
            ends = [_times(slope, Fraction(end)) for end in ranges[name]]
            if isinstance(slope, Fraction):
                highest = _plus(highest, max(ends))
            else:
                highest = _plus(highest, ends[0].max(ends[1]))
        return highest


def affine_form(node: Expression) -> Affine | None:
    """Return an expression as an affine function, None if its structure does not show one."""
    memory = memory_of(node)
    if "affine" not in memory:
        with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
            for item in postorder([node]):
                own = memory_of(item)
                if "affine" not in own:
                    own["affine"] = _composed(item)
    found: Affine | None = memory["affine"]
    return found


def affine_difference(first: Expression, second: Expression) -> Affine | None:
    """Return an affine function with the sign of ``first - second``, None if there is none.

    To be called at the precision of balls that is wanted.
    """
    scaled = [_scaled_form(side) for side in (first, second)]
    if scaled[0] is not None and scaled[1] is not None:
        return _with_zeros(scaled[0].minus(scaled[1]), first, second)
    plain = [affine_form(side) for side in (first, second)]
    if plain[0] is not None and plain[1] is not None:
        return plain[0].minus(plain[1])
    return None


def _with_zeros(line: Affine, first: Expression, second: Expression) -> Affine:
    """The difference of two logarithms with slopes that are known to be 0, where balls are not."""
    open_names = [
        name
        for name, slope in line.slopes.items()
        if not isinstance(slope, Fraction) and ball_sign(slope) is None
    ]
    if not open_names:
        return line
    difference = logarithm(first) - logarithm(second)
    zeros = {name: Fraction(0) for name in open_names if is_zero(difference.derivative(name))}
    return line._replace(slopes={**line.slopes, **zeros})


def _scaled_form(node: Expression) -> Affine | None:
    """Return the logarithm of a positive expression as an affine function."""
    memory = memory_of(node)
    if "affine logarithm" not in memory:
        with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
            form = _logarithm_form(node)
        if form is None and is_positive(node):
            form = affine_form(logarithm(node))
        memory["affine logarithm"] = form
    found: Affine | None = memory["affine logarithm"]
    return found


def _logarithm_form(node: Expression) -> Affine | None:
    """The logarithm of products and powers of positive numbers, without an expression for it."""
    operation, arguments = node.operation, node.arguments
    if node.value is not None:
        if node.value <= 0:
            return None
        return Affine(Fraction(0) if node.value == 1 else ball_of(node.value).log(), {})
    if operation is EXP:
        return affine_form(arguments[0])
    if operation is POWER:
        base, exponent = _logarithm_form(arguments[0]), affine_form(arguments[1])
        if base is None or exponent is None or base.slopes:
            return None
        return _scaled(exponent, base.offset, _times)
    if operation in (MULTIPLY, DIVIDE):
        first, second = map(_logarithm_form, arguments)
        if first is None or second is None:
            return None
        return _combined(first, second, _plus if operation is MULTIPLY else _minus)
    return None


def _composed(item: Expression) -> Affine | None:
    """The form of one node from those of its arguments."""
    if not item.parameters:
        return Affine(item.value if item.value is not None else enclose(item, {}, PRECISION), {})
    if item.name is not None:
        return Affine(Fraction(0), {item.name: Fraction(1)})
    parts = [memory_of(argument)["affine"] for argument in item.arguments]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        return None
    first, second = parts
    left, right = (bool(argument.parameters) for argument in item.arguments)
    if item.operation is ADD:
        return _combined(first, second, _plus)
    if item.operation is SUBTRACT:
        return _combined(first, second, _minus)
    if item.operation is MULTIPLY and not (left and right):
        line, factor = (first, second) if left else (second, first)
        return _scaled(line, factor.offset, _times)
    if item.operation is DIVIDE and not right and ball_sign(as_number_ball(second.offset)):
        return _scaled(first, second.offset, _over)
    return None


def nearest(number: Any) -> float:
    """Return a float within two units of a coefficient, nan if there is none."""
    try:
        if isinstance(number, Fraction):
            return number.numerator / number.denominator
        # A ball that is wide for its size would be further off.
        is_narrow = number.is_finite() and bool(number.rad() <= abs(number.mid()) * 2.0**-60)
        return float(number.mid()) if is_narrow or number == 0 else math.nan
    except OverflowError:
        return math.nan


def as_number_ball(number: Any) -> Any:
    """Return a coefficient as a ball."""
    return ball_of(number) if isinstance(number, Fraction) else number


def _combined(first: Affine, second: Affine, operation: Callable[[Any, Any], Any]) -> Affine:
    zero = Fraction(0)
    slopes = {
        name: operation(first.slopes.get(name, zero), second.slopes.get(name, zero))
        for name in first.slopes | second.slopes
    }
    return Affine(operation(first.offset, second.offset), slopes)


def _scaled(line: Affine, number: Any, operation: Callable[[Any, Any], Any]) -> Affine:
    slopes = {name: operation(slope, number) for name, slope in line.slopes.items()}
    return Affine(operation(line.offset, number), slopes)


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) == isinstance(b, Fraction):
        return a + b
    return as_number_ball(a) + as_number_ball(b)


def _minus(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) == isinstance(b, Fraction):
        return a - b
    return as_number_ball(a) - as_number_ball(b)


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) == isinstance(b, Fraction):
        return a * b
    return as_number_ball(a) * as_number_ball(b)


def _over(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction) == isinstance(b, Fraction):
        return a / b
    return as_number_ball(a) / as_number_ball(b)


class ScoreLine(NamedTuple):
    """A score, or its logarithm, as a straight line.

    Parameters
    ----------
    coefficients : tuple of six floats
        Offset and slope as `certune.kernels.programs` takes them.
    is_exact : bool
        Whether both are known as rational numbers.
    """

    coefficients: Coefficients
    is_exact: bool


def score_lines(nodes: Sequence[Expression]) -> list[ScoreLine] | None:
    """Return lines that compare as expressions in one parameter do, None if there are none."""
    for name, form_of in (("score line", _scaled_form), ("plain line", affine_form)):
        lines: list[ScoreLine] = []
        for node in nodes:
            memory = memory_of(node)
            if name not in memory:
                form = form_of(node)
                memory[name] = None if form is None else _line_of(form)
            line = memory[name]
            if line is None:
                break
            lines.append(line)
        else:
            return lines
    return None


def _line_of(form: Affine) -> ScoreLine | None:
    slopes = list(form.slopes.values()) or [Fraction(0)]
    if len(slopes) > 1:
        return None
    offset, slope = _enclosed(form.offset), _enclosed(slopes[0])
    if offset is None or slope is None:
        return None
    return ScoreLine((*offset, *slope), form.is_exact)


def _enclosed(number: Any) -> tuple[float, float, float] | None:
    """Return two floats and a radius around their sum in which a number lies."""
    with PRECISION_LOCK, flint.ctx.workprec(2 * PRECISION):
        ball = as_number_ball(number)
        high = float(ball.mid()) if ball.is_finite() else math.inf
        if not 2.0**-900 <= abs(high) <= 2.0**900:
            return (0.0, 0.0, 0.0) if number == 0 else None
        rest = ball - arb(high)
        low = float(rest.mid())
        # The conversion to a float truncates by less than one unit.
        radius = float((rest - arb(low)).abs_upper()) * (1.0 + 2.0**-50)
    return high, low, radius + 2.0**-1000


def affine_range(line: Affine, sides: Mapping[str, Any]) -> Any:
    """Return a ball with all values on a box, whose sides are balls."""
    value = as_number_ball(line.offset)
    for name, slope in line.slopes.items():
        value = value + as_number_ball(slope) * sides[name]
    return value


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
