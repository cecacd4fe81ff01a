"""Derivatives and substitution: new expressions from the partial derivatives of the operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from certune.errors import ParameterError
from certune.pfaffian.expressions.expression import Expression, apply, as_expression, constant
from certune.pfaffian.expressions.graph import postorder


def derivative(node: Expression, name: str) -> Expression:
    """Return the partial derivative with respect to a parameter; zero if it does not occur."""
    if not isinstance(name, str):
        raise ParameterError(f"expected the name of a parameter, got {name!r}")
    slopes: dict[Expression, Expression] = {}
    for item in postorder([node]):
        if item.operation is None:
            slopes[item] = constant(int(item.name == name))
            continue
        total = constant(0)
        if name in item.parameters:
            for partial, argument in zip(item.operation.partials, item.arguments, strict=True):
                if slopes[argument].value != 0:
                    total = total + partial(*item.arguments, item) * slopes[argument]
        slopes[item] = total
    return slopes[node]


def substitute(node: Expression, values: Mapping[str, Any]) -> Expression:
    """Return the expression with numbers or expressions in place of parameters."""
    results: dict[Expression, Expression] = {}
    for item in postorder([node]):
        if item.operation is not None:
            results[item] = apply(
                item.operation, *(results[argument] for argument in item.arguments)
            )
        elif item.name is not None and item.name in values:
            results[item] = as_expression(values[item.name])
        else:
            results[item] = item
    return results[node]
