"""Simplifications that keep chains short and degrees low.

Two of them: a quotient by an exponential, a power or a root is a product with the inverse power,
so that 1/exp(u) needs the one function exp(-u); and a denominator times its reciprocal is 1, which
lowers degrees, as in u (u^(-1/2))^2 = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from certune.pfaffian.expressions.expression import Expression, apply
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.operations import (
    DIVIDE,
    EXP,
    INTEGER_POWER,
    MULTIPLY,
    POWER,
    SQRT,
)
from certune.pfaffian.expressions.polynomials import Monomial, Polynomial, graded, monomial_of


def without_inverted_powers(node: Expression) -> Expression:
    """Return the expression with quotients by exponentials, powers and roots as products."""
    results: dict[Expression, Expression] = {}
    for item in postorder([node]):
        if item.operation is None:
            results[item] = item
        elif item.operation is DIVIDE:
            results[item] = _quotient(*(results[argument] for argument in item.arguments))
        else:
            results[item] = apply(
                item.operation, *(results[argument] for argument in item.arguments)
            )
    return results[node]


def _quotient(top: Expression, bottom: Expression) -> Expression:
    operation, arguments = bottom.operation, bottom.arguments
    if not bottom.parameters:
        return top / bottom
    if operation is EXP:
        return top * apply(EXP, -arguments[0])
    if operation in (POWER, INTEGER_POWER):
        return top * arguments[0] ** -arguments[1]
    if operation is SQRT:
        return top * arguments[0] ** Fraction(-1, 2)
    if operation is DIVIDE:
        return _quotient(top * arguments[1], arguments[0])
    if operation is MULTIPLY and not arguments[0].parameters:
        return _quotient(top / arguments[0], arguments[1])
    return top / bottom


class UnitProduct(NamedTuple):
    """The relation ``u * w**m == 1``, as a rule: its largest monomial, and what it equals."""

    largest: Monomial
    rest: Polynomial

    @classmethod
    def of(cls, value: Polynomial, inverse: Expression, power: int) -> UnitProduct:
        """Return the rule for a polynomial u and a function w with ``w**m == 1/u``."""
        product = value * Polynomial.of(inverse, power)
        largest = max(product.terms, key=graded)
        coefficient = product.terms[largest]
        rest = Polynomial.constant(1) - (product - Polynomial({largest: coefficient}))
        return cls(largest, rest.scaled(1 / coefficient))


def reduced(value: Polynomial, relations: Sequence[UnitProduct]) -> Polynomial:
    """Return an equal polynomial in which no monomial contains the largest one of a relation.

    Each step replaces a monomial by smaller ones in a fixed well-order, so it ends, and the
    degree never grows.
    """
    for relation in relations:
        while True:
            step = Polynomial({})
            for monomial, coefficient in value.terms.items():
                quotient = _divided(monomial, relation.largest)
                if quotient is not None:
                    own = Polynomial({monomial: coefficient})
                    step = step + Polynomial({quotient: coefficient}) * relation.rest - own
            if step.is_zero:
                break
            value = value + step
    return value


def _divided(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    powers = dict(monomial)
    for item, power in divisor:
        left = powers.get(item, 0) - power
        if left < 0:
            return None
        powers[item] = left
    return monomial_of(powers.items())
