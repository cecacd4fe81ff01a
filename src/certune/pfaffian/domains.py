"""Where a program is traced: a box of parameters, or a straight line through them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.checks import as_float_or_nan
from certune.errors import ParameterError
from certune.pfaffian.expressions import constant, parameter
from certune.space import ParameterSpace, Real, Segment


@dataclass(frozen=True)
class Domain:
    """A box, and the parameters of a program as expressions in its coordinates.

    Parameters
    ----------
    ranges : dict of name to (low, high)
        The coordinates and their finite ranges.
    parameters : dict of name to Expression or tuple of Expression
        What the program is given.
    """

    ranges: dict[str, tuple[float, float]]
    parameters: dict[str, Any]


def domain_of(given: Any) -> Domain:
    """Return the domain that a segment, a parameter space or a mapping of ranges describes.

    Parameters
    ----------
    given : Segment, ParameterSpace or mapping of name to (low, high)
        Along a segment the coordinate is named after the parameter that it equals, or ``t``.
    """
    if isinstance(given, Segment):
        return Domain({given.name: (given.low, given.high)}, along(given))
    if isinstance(given, ParameterSpace):
        ranges = {}
        for item in given.parameters:
            if not isinstance(item, Real):
                raise ParameterError(
                    f"parameter {item.name!r} is a simplex, which is not a box; trace along a "
                    "Segment, or over a box of parameters of your own"
                )
            ranges[item.name] = (item.low, item.high)
    elif isinstance(given, Mapping):
        ranges = {str(name): _range(name, ends) for name, ends in given.items()}
    else:
        raise ParameterError(
            f"a domain is a Segment, a ParameterSpace or a mapping of name to (low, high), got "
            f"{given!r}"
        )
    if not ranges:
        raise ParameterError("a domain needs at least one parameter, got none")
    return Domain(ranges, {name: parameter(name) for name in ranges})


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
