"""Differences in a form that balls can judge.

Two positive numbers compare as their logarithms do.  Scores such as v / s^rho differ by many orders
of magnitude over a range of rho, while their logarithms are tame, here even linear; so where both
sides of a comparison are positive by their structure, the difference of logarithms takes its place.
"""

from __future__ import annotations

import functools
import operator
from fractions import Fraction

from certune.pfaffian.expressions import operations as op
from certune.pfaffian.expressions.expression import Expression, apply, constant
from certune.pfaffian.expressions.graph import postorder

_POSITIVE = (op.EXP, op.POWER, op.SIGMOID, op.SOFTPLUS)
_SUMS = (op.ADD, op.SUBTRACT)
# Longer sums are left as they are.
_MOST_TERMS = 1000
_ONE = constant(1)
_KEEPS_POSITIVE = (op.ADD, op.MULTIPLY, op.DIVIDE, op.INTEGER_POWER)


def scaled_difference(first: Expression, second: Expression) -> Expression:
    """Return an expression with the sign of ``first - second`` wherever that is defined."""
    if first.operation in _SUMS or second.operation in _SUMS:
        first, second = _without_common_terms(first, second)
    one, two = _sign_of(first), _sign_of(second)
    if one == two == 1:
        return logarithm(first) - logarithm(second)
    if one is None or two is None:
        return first - second
    return constant(one - two)


def _sign_of(node: Expression) -> int | None:
    """1 for an expression that is positive by its structure, 0 for zero, else None."""
    return 1 if is_positive(node) else 0 if node.value == 0 else None


def _without_common_terms(first: Expression, second: Expression) -> tuple[Expression, Expression]:
    """Return two expressions with the same difference, of which no term stands on both sides.

    That is only done if terms cancel, or if it parts a sum into two positive ones.
    """
    shares: dict[Expression, Fraction] = {}
    n_terms = 0
    pending = [(first, Fraction(1)), (second, Fraction(-1))]
    while pending:
        node, share = pending.pop()
        if node.operation in _SUMS:
            left, right = node.arguments
            pending += [(right, share if node.operation is op.ADD else -share), (left, share)]
        elif node.operation is op.MULTIPLY and node.arguments[0].value is not None:
            pending.append((node.arguments[1], share * node.arguments[0].value))
        elif node.operation is op.MULTIPLY and node.arguments[1].value is not None:
            pending.append((node.arguments[0], share * node.arguments[1].value))
        else:
            n_terms += 1
            if n_terms > _MOST_TERMS:
                return first, second
            term, factor = (node, share) if node.value is None else (_ONE, share * node.value)
            shares[term] = shares.get(term, Fraction(0)) + factor
    sides = tuple(
        _sum_of([(term, sign * share) for term, share in shares.items() if sign * share > 0])
        for sign in (1, -1)
    )
    has_cancelled = sum(share != 0 for share in shares.values()) < n_terms
    are_parted = all(map(is_positive, sides)) and not (is_positive(first) and is_positive(second))
    return (sides[0], sides[1]) if has_cancelled or are_parted else (first, second)


def _sum_of(terms: list[tuple[Expression, Fraction]]) -> Expression:
    parts = [term if share == 1 else constant(share) * term for term, share in terms]
    return functools.reduce(operator.add, parts) if parts else constant(0)


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
