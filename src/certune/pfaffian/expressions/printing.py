"""Expressions as text and as LaTeX."""

from __future__ import annotations

from fractions import Fraction

from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.operations import (
    ADD,
    ATOM_PRECEDENCE,
    DIVIDE,
    INTEGER_POWER,
    MULTIPLY,
    POWER,
    SUBTRACT,
)

_UNARY_MINUS = 1
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega"
).split()
_LONG_DENOMINATOR = 10**6
# Python refuses to print longer numbers, and floats end here.
_MOST_BITS = 1000


def text(node: Expression) -> str:
    """Return the expression in Python's notation."""
    printed: dict[Expression, tuple[str, int]] = {}
    for item in postorder([node]):
        printed[item] = _text(item, [printed[argument] for argument in item.arguments])
    return printed[node][0]


def _text(item: Expression, parts: list[tuple[str, int]]) -> tuple[str, int]:
    operation = item.operation
    if operation is None:
        return _text_number(item.value) if item.name is None else (item.name, ATOM_PRECEDENCE)  # type: ignore[arg-type]
    if not operation.symbol:
        return f"{operation.name}({parts[0][0]})", ATOM_PRECEDENCE
    if operation is MULTIPLY and item.arguments[0].value == -1:
        return "-" + _wrapped(parts[1], operation.precedence), _UNARY_MINUS
    if operation is MULTIPLY and (item.arguments[0].value or 0) < 0:
        return f"{parts[0][0]}*{_wrapped(parts[1], operation.precedence + 1)}", _UNARY_MINUS
    # The right operand of - and /, and the left one of **, need brackets at equal strength.
    left = operation.precedence + (operation in (POWER, INTEGER_POWER))
    right = operation.precedence + (operation in (SUBTRACT, DIVIDE, MULTIPLY))
    first, second = _wrapped(parts[0], left), _wrapped(parts[1], right)
    if operation is ADD and second.startswith("-"):
        return f"{first} - {second[1:]}", operation.precedence
    return first + operation.symbol + second, operation.precedence


def _text_number(value: Fraction) -> tuple[str, int]:
    size = value.numerator.bit_length(), value.denominator.bit_length()
    if max(size) > _MOST_BITS:
        sign = "-" if value < 0 else ""
        return f"{sign}(about 2**{size[0] - size[1]})", _UNARY_MINUS if sign else ATOM_PRECEDENCE
    if value.denominator == 1:
        return str(value.numerator), ATOM_PRECEDENCE if value >= 0 else _UNARY_MINUS
    if value.denominator > _LONG_DENOMINATOR and Fraction(float(value)) == value:
        return repr(float(value)), ATOM_PRECEDENCE if value >= 0 else _UNARY_MINUS
    return str(value), DIVIDE.precedence if value >= 0 else _UNARY_MINUS


def _wrapped(part: tuple[str, int], strength: int) -> str:
    return part[0] if part[1] >= strength else f"({part[0]})"


def latex(node: Expression) -> str:
    """Return the expression in LaTeX."""
    printed: dict[Expression, tuple[str, int]] = {}
    for item in postorder([node]):
        printed[item] = _latex(item, [printed[argument] for argument in item.arguments])
    return printed[node][0]


def _latex(item: Expression, parts: list[tuple[str, int]]) -> tuple[str, int]:
    operation = item.operation
    if operation is None:
        return _latex_leaf(item)
    if operation.latex:
        strength = DIVIDE.precedence if operation is DIVIDE else ATOM_PRECEDENCE
        return operation.latex.format(*(part[0] for part in parts)), strength
    if operation in (POWER, INTEGER_POWER):
        base = parts[0][0]
        if parts[0][1] < ATOM_PRECEDENCE or item.arguments[0].operation is not None:
            base = rf"\left({base}\right)"
        return f"{base}^{{{parts[1][0]}}}", POWER.precedence
    left = operation.precedence
    right = operation.precedence + (operation is SUBTRACT)
    first, second = (
        part[0] if part[1] >= strength else rf"\left({part[0]}\right)"
        for part, strength in zip(parts, (left, right), strict=True)
    )
    if operation is MULTIPLY:
        if item.arguments[0].value == -1:
            return f"-{second}", _UNARY_MINUS
        separator = r" \cdot " if second[0].isdigit() or second.startswith("\\frac") else " "
        negative = (item.arguments[0].value or 0) < 0
        first = parts[0][0] if negative else first
        return first + separator + second, _UNARY_MINUS if negative else operation.precedence
    if operation is ADD and second.startswith("-"):
        return f"{first} - {second[1:]}", operation.precedence
    return first + operation.symbol + second, operation.precedence


def _latex_leaf(item: Expression) -> tuple[str, int]:
    if item.name is not None:
        head, _, index = item.name.partition("_")
        head = f"\\{head}" if head in _GREEK else head if len(head) == 1 else rf"\mathrm{{{head}}}"
        return (f"{head}_{{{index}}}" if index else head), ATOM_PRECEDENCE
    assert item.value is not None
    shown, strength = _text_number(item.value)
    if "/" in shown:
        top, bottom = shown.lstrip("-").split("/")
        sign = "-" if item.value < 0 else ""
        return rf"{sign}\frac{{{top}}}{{{bottom}}}", strength
    return shown, strength
