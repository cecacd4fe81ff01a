"""Values of expressions: floats, balls, and balls with a derivative along a line.

Balls (python-flint) contain the exact value at any precision, so they are both the error-bounded
float filter, at 64 bits, and the arbiter behind it.  Signs are three-valued.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import flint
from flint import arb, fmpq

from certune.errors import InputError, ParameterError
from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.expressions.expression import Expression, Point
from certune.pfaffian.expressions.graph import postorder

PRECISION = 64
_LAST_PRECISION = 1 << 13
# Balls are cheaper than normal forms, so equality is only tried where these bits do not tell.
_PROOF_PRECISION = 1 << 9


class Jet(NamedTuple):
    """Value and derivative along a line, as balls; no derivative where it is exactly zero."""

    value: Any
    slope: Any | None


def tape(node: Expression) -> list[Expression]:
    """Return the subexpressions in the order of evaluation; kept with the expression."""
    memory = memory_of(node)
    order = memory.get("tape")
    if order is None:
        # The expression itself is left out, so that it does not keep itself alive.
        order = memory["tape"] = postorder([node])[:-1]
    return [*order, node]


def places(node: Expression) -> list[tuple[int, ...]]:
    """Return, for each entry of the tape, where its arguments are on it; kept like the tape."""
    memory = memory_of(node)
    found: list[tuple[int, ...]] | None = memory.get("places")
    if found is None:
        order = tape(node)
        numbers = {id(item): number for number, item in enumerate(order)}
        found = [tuple(numbers[id(each)] for each in item.arguments) for item in order]
        memory["places"] = found
    return found


def memory_of(node: Expression) -> dict[Any, Any]:
    """Return what is kept with an expression as long as it lives."""
    if node.memory is None:
        node.memory = {}
    memory: dict[Any, Any] = node.memory
    return memory


def ball_of(value: Fraction) -> Any:
    """Return the ball of a rational number at the working precision."""
    if value.denominator == 1:
        return arb(value.numerator)
    return arb(fmpq(value.numerator, value.denominator))


def evaluate(node: Expression, point: Point) -> float:
    """Evaluate in floats; see `Expression.evaluate`."""
    _check_names(node, point)
    values: dict[Expression, float] = {}
    for item in tape(node):
        if item.operation is not None:
            arguments = [values[argument] for argument in item.arguments]
            try:
                result = item.operation.on_floats(*arguments)
            except (ValueError, ZeroDivisionError, OverflowError):
                result = math.nan
            if isinstance(result, complex) or math.isnan(result):
                raise InputError(
                    f"{item} has no float value at {dict(point)!r}: {item.operation.name} of "
                    f"{arguments} (it needs {item.operation.domain or 'smaller numbers'})"
                )
            values[item] = result
        else:
            values[item] = _float(point[item.name] if item.name else item.value)
    return values[node]


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"expected a number within the range of floats, got {value!r}"
        ) from None


def _check_names(node: Expression, point: Point) -> None:
    missing = [name for name in node.parameters if name not in point]
    if missing:
        raise ParameterError(
            f"the expression {node} needs values for {', '.join(node.parameters)}; "
            f"{', '.join(missing)} missing in {dict(point)!r}"
        )


def as_ball(value: Any) -> Any:
    """Return a number, an interval (low, high) or a ball as a ball."""
    if isinstance(value, arb):
        return value
    if isinstance(value, tuple):
        low, high = value
        return as_ball(low).union(as_ball(high))
    if isinstance(value, float) and math.isfinite(value):
        return arb(value)
    try:
        return ball_of(Fraction(value))
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"expected a finite number, an interval (low, high) or a ball, got {value!r}"
        ) from None


def enclose(node: Expression, point: Point, precision: int = PRECISION) -> Any:
    """Return a ball that contains the value; see `Expression.enclose`."""
    if node.memory is not None and not node.parameters and precision in node.memory:
        return node.memory[precision]
    _check_names(node, point)
    with PRECISION_LOCK, flint.ctx.workprec(precision):
        balls = {name: as_ball(point[name]) for name in node.parameters}
        return _ball(node, balls, precision)


def _ball(node: Expression, balls: Mapping[str, Any], precision: int) -> Any:
    values: list[Any] = []
    for item, sources in zip(tape(node), places(node), strict=True):
        values.append(_value(item, [values[source] for source in sources], balls, precision))
    return values[-1]


def _value(item: Expression, arguments: list[Any], balls: Mapping[str, Any], precision: int) -> Any:
    """Ball of one node from those of its arguments; constants at 64 bits are remembered."""
    if item.name is not None:
        return balls[item.name]
    if not item.parameters:
        memory = memory_of(item)
        known = memory.get(precision)
        if known is None:
            known = (
                ball_of(item.value)
                if item.value is not None
                else item.operation.on_balls(*arguments)  # type: ignore[union-attr]
            )
            memory[precision] = known
        return known
    return item.operation.on_balls(*arguments)  # type: ignore[union-attr]


def is_nowhere_defined(node: Expression, point: Point) -> bool:
    """Tell whether an expression is proved to have no value at any point of a box."""
    balls = {name: as_ball(point[name]) for name in node.parameters}
    values: list[Any] = []
    for item, sources in zip(tape(node), places(node), strict=True):
        arguments = [values[source] for source in sources]
        values.append(_value(item, arguments, balls, flint.ctx.prec))
        if item.operation is not None and item.operation.is_undefined(*arguments):
            return True
    return False


def ball_sign(ball: Any) -> int | None:
    """Return the sign of all numbers of a ball, None if they have several."""
    if ball > 0:
        return 1
    if ball < 0:
        return -1
    return 0 if ball == 0 else None


def sign_at(node: Expression, point: Point) -> int | None:
    """Return the sign at a point or on a box: -1, 0, 1, or None if it is not proved.

    Balls at growing precision; that a value is zero is proved by its normal form.
    """
    from certune.pfaffian.expressions.normal_form import is_zero

    if node.value is not None:
        return (node.value > 0) - (node.value < 0)
    sign = ball_sign(enclose(node, point))
    if sign is not None:
        return sign
    boxed = any(isinstance(point[name], (arb, tuple)) for name in node.parameters)
    try:
        number = node if boxed else node.substitute({name: point[name] for name in node.parameters})
    except (InputError, ZeroDivisionError):
        # The point lies outside of the domain, where there is no sign.
        return None
    if boxed:
        return 0 if is_zero(number) else None
    precision = 2 * PRECISION
    while precision <= _LAST_PRECISION:
        sign = ball_sign(enclose(number, {}, precision))
        if sign is None and precision == _PROOF_PRECISION and is_zero(number):
            sign = 0
        if sign is not None:
            return sign
        precision *= 2
    return None


def nearest_float(node: Expression) -> float:
    """Return the float nearest to an expression without parameters."""
    if node.parameters:
        raise node.refusal(
            "has no float value here",
            "compare it as it is, and compute with the functions of certune.pfaffian in place of "
            "those of math",
        )
    if node.value is not None:
        return float(node.value)
    precision = 2 * PRECISION
    while True:
        ball = enclose(node, {}, precision)
        if not ball.is_finite():
            raise InputError(f"{node} is not a finite real number")
        with PRECISION_LOCK, flint.ctx.workprec(precision):
            low, high = (float(_exact(end)) for end in (ball.lower(), ball.upper()))
        if low == high or precision > _LAST_PRECISION:
            return low
        precision *= 2


def _exact(number: Any) -> Fraction:
    """The rational number that a ball without radius is; its conversion to float truncates."""
    mantissa, exponent = (int(part) for part in number.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def jet(node: Expression, balls: Mapping[str, Jet], shared: dict[Expression, Jet]) -> Jet:
    """Return value and derivative along a line, at the working precision of the context.

    Parameters
    ----------
    node : Expression
        What to evaluate.
    balls : mapping of name to Jet
        The parameters and their slopes.
    shared : dict
        Jets of functions at the same point, kept from one call to the next.
    """
    values: list[Jet] = []
    for item, sources in zip(tape(node), places(node), strict=True):
        is_costly = item.operation is not None and item.operation.is_costly
        known = shared.get(item) if is_costly else None
        if known is None:
            known = _jet(item, [values[source] for source in sources], balls)
            if is_costly:
                shared[item] = known
        values.append(known)
    return values[-1]


def _jet(item: Expression, jets: list[Jet], balls: Mapping[str, Jet]) -> Jet:
    if item.name is not None:
        return balls[item.name]
    operation = item.operation
    if operation is None or not item.parameters:
        return Jet(_value(item, [each.value for each in jets], {}, flint.ctx.prec), None)
    arguments = [each.value for each in jets]
    value = operation.on_balls(*arguments)
    slope = None
    for partial, each in zip(operation.partials, jets, strict=True):
        if each.slope is not None:
            term = partial(*arguments, value) * each.slope
            slope = term if slope is None else slope + term
    return Jet(value, slope)
