"""Predicates without denominators: only their sign counts.

A quotient N / D has the sign of N D wherever it is defined, and that of N if D is positive.  So a
predicate that is a rational function needs no reciprocal on a chain: its chain is empty, and
``thm:pfaffian-gj-algorithm`` gives O(d log(Delta K)), the case q = 0 of the remark that follows it.
"""

from __future__ import annotations

from fractions import Fraction

from certune.pfaffian.expressions.expression import Expression, constant
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.operations import ADD, DIVIDE, INTEGER_POWER, MULTIPLY, SUBTRACT

# A denominator by its factors and their powers.
_Factors = dict[Expression, int]
# Powers of sums are written out as products on a chain; larger ones stay quotients.
_LARGEST_POWER = 16


def cleared(node: Expression) -> Expression:
    """Return an expression with the sign of another one, without its outermost denominators.

    Parameters
    ----------
    node : Expression
        A predicate.

    Returns
    -------
    Expression
        It has the same sign wherever `node` is defined; `node` itself if there is no denominator
        with parameters.

    Examples
    --------
    >>> from certune.pfaffian import parameters
    >>> from certune.pfaffian.chains.clearing import cleared
    >>> a, b = parameters("a b")
    >>> print(cleared(1 / a - b))
    (1 - b*a)*a
    >>> print(cleared(1 / (a - b) ** 2 - 3))
    1 - 3*(a - b)**2
    """
    parts: dict[Expression, tuple[Expression, _Factors]] = {}
    for item in postorder([node]):
        parts[item] = _quotient(item, [parts[argument] for argument in item.arguments])
    top, bottom = parts[node]
    if not bottom:
        return node
    for factor, power in bottom.items():
        # An even power is positive, and so may be what has an odd one.
        if power % 2 and factor.least < 1:
            top = top * factor
    return top


def _quotient(
    item: Expression, parts: list[tuple[Expression, _Factors]]
) -> tuple[Expression, _Factors]:
    """Numerator and denominator of a node from those of its arguments."""
    if item.operation is INTEGER_POWER:
        power = item.arguments[1].value
        assert power is not None
        if abs(power) > _LARGEST_POWER:
            return item, {}
        (top, bottom), count = parts[0], int(power)
        if count < 0:
            top, bottom = _inverted(top, bottom)
        return top ** abs(count), {factor: abs(count) * n for factor, n in bottom.items()}
    if item.operation in (ADD, SUBTRACT):
        (first, below), (second, under) = parts
        common = {
            factor: max(below.get(factor, 0), under.get(factor, 0)) for factor in below | under
        }
        first, second = _over(first, below, common), _over(second, under, common)
        return (first + second if item.operation is ADD else first - second), common
    if item.operation in (MULTIPLY, DIVIDE):
        (first, below), (second, under) = parts
        if item.operation is DIVIDE:
            second, under = _inverted(second, under)
        product = {factor: below.get(factor, 0) + under.get(factor, 0) for factor in below | under}
        return first * second, product
    return item, {}


def _inverted(top: Expression, bottom: _Factors) -> tuple[Expression, _Factors]:
    """The reciprocal of a quotient; numbers stay in the numerator."""
    number, factors = _factored(top)
    return _over(constant(1), {}, bottom) / number, factors


def _factored(node: Expression) -> tuple[Expression, _Factors]:
    """A number and factors whose product an expression is."""
    if not node.parameters:
        return node, {}
    if node.operation is MULTIPLY:
        (first, some), (second, more) = map(_factored, node.arguments)
        return first * second, {
            factor: some.get(factor, 0) + more.get(factor, 0) for factor in some | more
        }
    if node.operation is INTEGER_POWER:
        power = node.arguments[1].value
        assert power is not None
        if power > 0:
            number, factors = _factored(node.arguments[0])
            return number ** int(power), {
                factor: int(power) * count for factor, count in factors.items()
            }
    return constant(1), {node: 1}


def _over(top: Expression, bottom: _Factors, common: _Factors) -> Expression:
    """The numerator over a common denominator."""
    for factor, power in common.items():
        missing = power - bottom.get(factor, 0)
        if missing:
            top = top * factor ** Fraction(missing)
    return top
