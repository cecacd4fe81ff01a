"""Numbers, ranges and points of parameters as a user gives them, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from certune.checks import as_float, is_number
from certune.errors import ParameterError

ParameterValue: TypeAlias = "float | tuple[float, ...]"


def check_name(name: object) -> None:
    """Raise :class:`ParameterError` unless the name is a non-empty string."""
    if not isinstance(name, str) or not name:
        raise ParameterError(f"A parameter name must be a non-empty string, got {name!r}.")


def check_range(what: str, low: object, high: object) -> tuple[float, float]:
    """Return the ends of a range as floats, or raise :class:`ParameterError`."""
    if not is_number(low) or not is_number(high):
        raise ParameterError(f"The ends of {what} must be numbers, got {low!r} and {high!r}.")
    first, last = as_float(what, low), as_float(what, high)
    if not (math.isfinite(first) and math.isfinite(last) and first < last):
        raise ParameterError(
            f"{what} needs finite ends with low < high, got low={first!r} and high={last!r}."
        )
    return first, last


def as_vector(name: str, value: object) -> tuple[float, ...]:
    """Return a sequence of numbers as a tuple, or raise :class:`ParameterError`."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, Sequence) or not all(is_number(item) for item in value):
        raise ParameterError(f"Parameter {name!r} must be a sequence of numbers, got {value!r}.")
    return tuple(as_float(f"Parameter {name!r}", item) for item in value)


def as_point(what: str, point: object) -> dict[str, ParameterValue]:
    """Return a point as floats and tuples by name, or raise :class:`ParameterError`."""
    if not isinstance(point, Mapping):
        raise ParameterError(f"{what} must be a mapping of names to values, got {point!r}.")
    result: dict[str, ParameterValue] = {}
    for name, value in point.items():
        check_name(name)
        coordinates = (value,) if is_number(value) else as_vector(name, value)
        floats = [as_float(f"{what} of {name!r}", coordinate) for coordinate in coordinates]
        if not all(math.isfinite(coordinate) for coordinate in floats):
            raise ParameterError(f"{what} of {name!r} must be finite, got {value!r}.")
        result[name] = floats[0] if is_number(value) else tuple(floats)
    return result


def shown_setting(params: Mapping[str, Any]) -> str:
    """Return a setting in words.

    Examples
    --------
    >>> shown_setting({"alpha": 1.25, "weights": (0.5, 0.5), "rule": "first fit"})
    'alpha = 1.25, weights = (0.5, 0.5), rule = first fit'
    """
    return ", ".join(f"{name} = {_shown_value(value)}" for name, value in params.items())


def _shown_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown_value, value))})"
    return str(value) if isinstance(value, (str, int)) else f"{value:.8g}"
