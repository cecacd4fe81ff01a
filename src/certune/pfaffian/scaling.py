"""Differences in a form that balls can judge.

Two positive numbers compare as their logarithms do.  Scores such as v / s^rho differ by many orders
of magnitude over a range of rho, while their logarithms are tame, here even linear; so where both
sides of a comparison are positive by their structure, the difference of logarithms takes its place.
"""

from __future__ import annotations

from fractions import Fraction

from certune.pfaffian import operations as op
from certune.pfaffian.expressions import Expression, apply, constant
from certune.pfaffian.graph import postorder

_POSITIVE = (op.EXP, op.POWER, op.SIGMOID, op.SOFTPLUS)
_KEEPS_POSITIVE = (op.ADD, op.MULTIPLY, op.DIVIDE, op.INTEGER_POWER)


def scaled_difference(first: Expression, second: Expression) -> Expression:
    """Return an expression with the sign of ``first - second`` wherever that is defined."""
    if is_positive(first) and is_positive(second):
        return logarithm(first) - logarithm(second)
    return first - second


def is_positive(node: Expression) -> bool:
    """Tell whether the structure of an expression shows that it is positive where defined."""
    known: dict[Expression, bool] = {}
    for item in postorder([node]):
        if item.value is not None:
            known[item] = item.value > 0
        elif item.operation in _POSITIVE:
            known[item] = True
        elif item.operation is op.INTEGER_POWER:
            known[item] = known[item.arguments[0]]
        elif item.operation in _KEEPS_POSITIVE:
            known[item] = all(known[argument] for argument in item.arguments)
        else:
            known[item] = False
    return known[node]


def logarithm(node: Expression) -> Expression:
    """Return the logarithm of a positive expression, split at products and powers."""
    operation, arguments = node.operation, node.arguments
    if operation is op.EXP:
        return arguments[0]
    if operation is op.POWER:
        return arguments[1] * apply(op.LOG, arguments[0])
    if operation is op.MULTIPLY:
        return logarithm(arguments[0]) + logarithm(arguments[1])
    if operation is op.DIVIDE:
        return logarithm(arguments[0]) - logarithm(arguments[1])
    if operation is op.INTEGER_POWER:
        return arguments[1] * logarithm(arguments[0])
    if node.value == Fraction(1):
        return constant(0)
    return apply(op.LOG, node)
