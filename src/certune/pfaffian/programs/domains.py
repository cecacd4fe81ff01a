"""Where a program is traced: a box of parameters, weights, or a straight line through them."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.checks import as_float_or_nan
from certune.errors import ParameterError
from certune.pfaffian.expressions.expression import Expression, constant, parameter
from certune.space import ParameterSpace, Segment, Simplex


@dataclass(frozen=True)
class Domain:
    """A box, or a part of it, and the parameters of a program as expressions in its coordinates.

    Parameters
    ----------
    ranges : dict of name to (low, high)
        The coordinates and their finite ranges.
    parameters : dict of name to Expression or tuple of Expression
        What the program is given.
    conditions : tuple of Expression
        Affine functions that are at least 0 on the part of the box that belongs to it.
    """

    ranges: dict[str, tuple[float, float]]
    parameters: dict[str, Any]
    conditions: tuple[Expression, ...] = ()


def domain_of(given: Any) -> Domain:
    """Return the domain that a segment, a parameter space or a mapping of ranges describes.

    Parameters
    ----------
    given : Segment, ParameterSpace or mapping of name to (low, high)
        Along a segment the coordinate is named after the parameter that it equals, or ``t``. Of
        weights the last one is what the others leave.
    """
    if isinstance(given, Segment):
        return Domain({given.name: (given.low, given.high)}, along(given))
    if isinstance(given, ParameterSpace):
        return _whole(given)
    if isinstance(given, Mapping):
        ranges = {str(name): _range(name, ends) for name, ends in given.items()}
    else:
        raise ParameterError(
            f"a domain is a Segment, a ParameterSpace or a mapping of name to (low, high), got "
            f"{given!r}"
        )
    if not ranges:
        raise ParameterError("a domain needs at least one parameter, got none")
    return Domain(ranges, {name: parameter(name) for name in ranges})


def _whole(space: ParameterSpace) -> Domain:
    ranges: dict[str, tuple[float, float]] = {}
    parameters: dict[str, Any] = {}
    conditions: list[Expression] = []
    for item in space.parameters:
        if isinstance(item, Simplex):
            names = [f"{item.name}[{i}]" for i in range(item.size - 1)]
            ranges.update(dict.fromkeys(names, (0.0, 1.0)))
            free = [parameter(name) for name in names]
            last = functools.reduce(operator.sub, free, constant(Fraction(1)))
            parameters[item.name] = (*free, last)
            conditions.append(last)
        elif item not in space.discrete:
            ranges[item.name] = (item.low, item.high)
            parameters[item.name] = parameter(item.name)
        else:
            raise ParameterError(
                f"parameter {item.name!r} has separate settings, and a trace needs real "
                "parameters; trace the program at each setting"
            )
    return Domain(ranges, parameters, tuple(conditions))


def _range(name: object, ends: Any) -> tuple[float, float]:
    try:
        low, high = map(as_float_or_nan, ends)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(
            f"the range of {name!r} must be (low, high) with finite low < high, got {ends!r}"
        )
    return low, high


def along(segment: Segment) -> dict[str, Any]:
    """Return the parameters on a segment as expressions in its coordinate, without rounding."""
    t = parameter(segment.name)

    def at(start: float, step: float) -> Any:
        return constant(Fraction(start)) + constant(Fraction(step)) * t

    result: dict[str, Any] = {}
    for name, start in segment.origin.items():
        step: Any = segment.direction[name]
        if isinstance(start, tuple):
            result[name] = tuple(at(a, b) for a, b in zip(start, step, strict=True))
        else:
            result[name] = at(start, step)
    return result
