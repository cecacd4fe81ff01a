"""Expressions as tapes of the compiled core: intervals with slopes, fifty times as fast as balls.

Doubles rounded outwards prove most signs; what they leave open, because digits cancel or a function
is not on the list, is left to balls (`certune.pfaffian.expressions.evaluation`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from certune.kernels.programs import OPERATORS, Tape
from certune.pfaffian.expressions.evaluation import enclose, memory_of
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.operations import (
    ADD,
    DIVIDE,
    EXP,
    INTEGER_POWER,
    LOG,
    MULTIPLY,
    POWER,
    SIGMOID,
    SOFTPLUS,
    SQRT,
    SUBTRACT,
    TANH,
)

_CODES = {name: number for number, name in enumerate(OPERATORS)}
_BINARY = {ADD: "add", SUBTRACT: "subtract", MULTIPLY: "multiply", DIVIDE: "divide"}
_UNARY = {EXP: "exponential", LOG: "logarithm", SQRT: "square root"}
_LARGEST_POWER = 1000


def tape_of(node: Expression) -> Tape | None:
    """Return the tape of an expression, kept with it; None if the core does not know a function.

    Its parameters are those of the expression, in their order.
    """
    memory = memory_of(node)
    if "native tape" not in memory:
        memory["native tape"] = _Writer(node).tape() if node.parameters else None
    found: Tape | None = memory["native tape"]
    return found


class _UnknownFunction(Exception):
    """The core does not know a function."""


class _Writer:
    """Writes the steps of an expression."""

    def __init__(self, node: Expression) -> None:
        self._node = node
        self._steps: list[tuple[int, int, int]] = []
        self._constants: list[tuple[float, float]] = []
        self._places: dict[Expression, int] = {}

    def tape(self) -> Tape | None:
        """Return the tape, None if there is none."""
        try:
            for item in postorder([self._node]):
                self._places[item] = self._written(item)
        except _UnknownFunction:
            return None
        # The last step is the expression itself.
        return Tape(self._steps, self._constants or [(0.0, 0.0)], len(self._node.parameters))

    def _written(self, item: Expression) -> int:
        if not item.parameters:
            return self._constant(_ends(item))
        if item.name is not None:
            return self._step("parameter", self._node.parameters.index(item.name))
        operation, arguments = item.operation, item.arguments
        places = [self._places[argument] for argument in arguments]
        if operation in _BINARY:
            return self._step(_BINARY[operation], *places)
        if operation in _UNARY:
            return self._step(_UNARY[operation], places[0])
        if operation is INTEGER_POWER:
            exponent = arguments[1].value
            if exponent is None or abs(exponent) > _LARGEST_POWER:
                raise _UnknownFunction
            return self._step("integer power", places[0], int(exponent))
        if operation is POWER:
            logarithm = self._step("logarithm", places[0])
            return self._step("exponential", self._step("multiply", places[1], logarithm))
        if operation is SIGMOID:
            return self._sigmoid(places[0])
        if operation is TANH:
            # 2 sigmoid(2 x) - 1
            two, one = self._constant((2.0, 2.0)), self._constant((1.0, 1.0))
            curve = self._sigmoid(self._step("multiply", two, places[0]))
            return self._step("subtract", self._step("multiply", two, curve), one)
        if operation is SOFTPLUS:
            grown = self._step("exponential", places[0])
            return self._step("logarithm", self._step("add", self._constant((1.0, 1.0)), grown))
        raise _UnknownFunction

    def _sigmoid(self, place: int) -> int:
        """1 / (1 + exp(-x))."""
        one = self._constant((1.0, 1.0))
        falling = self._step(
            "exponential", self._step("multiply", self._constant((-1.0, -1.0)), place)
        )
        return self._step("divide", one, self._step("add", one, falling))

    def _constant(self, ends: tuple[float, float]) -> int:
        self._constants.append(ends)
        return self._step("constant", len(self._constants) - 1)

    def _step(self, name: str, first: int, second: int = 0) -> int:
        self._steps.append((_CODES[name], first, second))
        return len(self._steps) - 1


def _ends(item: Expression) -> tuple[float, float]:
    """Floats around a constant."""
    value: Any = item.value
    if value is None:
        ball = enclose(item, {}, 64)
        if not ball.is_finite():
            raise _UnknownFunction
        return float_ends(ball)
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        raise _UnknownFunction from None
    return (nearest, nearest) if Fraction(nearest) == value else _around(nearest)


def float_ends(ball: Any) -> tuple[float, float]:
    """Return floats around all numbers of a ball, nan or infinite if it is not finite."""
    # The conversion truncates by less than a unit.
    return _around(float(ball.lower()))[0], _around(float(ball.upper()))[1]


def _around(number: float) -> tuple[float, float]:
    return math.nextafter(number, -math.inf), math.nextafter(number, math.inf)
