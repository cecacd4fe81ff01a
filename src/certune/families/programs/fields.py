"""Checks of what instances of programs are made of: numbers, taken exactly."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certune.checks import as_fraction, as_list
from certune.errors import InputError, ParameterError
from certune.space import Real


def exact_numbers(
    name: str, values: Iterable[Any], *, above: Fraction | int | None = None
) -> tuple[Fraction, ...]:
    """Return finite numbers as fractions, or raise `InputError`.

    Parameters
    ----------
    name : str
        What they are, for messages.
    values : iterable of numbers
        The numbers.
    above : number, optional
        Every one must be larger.
    """
    try:
        found = tuple(as_fraction(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be finite numbers, got {values!r}") from None
    if above is not None and any(value <= above for value in found):
        raise InputError(f"{name} must be > {above}, got {float(min(found))!r}")
    return found


def whole_numbers(name: str, values: Iterable[Any]) -> tuple[int, ...]:
    """Return whole numbers, or raise `InputError`."""
    try:
        return tuple(operator.index(value) for value in values)
    except TypeError:
        raise InputError(f"{name} must be whole numbers, got {values!r}") from None


def indices(name: str, values: Iterable[Any], size: int) -> tuple[int, ...]:
    """Return whole numbers from 0 to ``size - 1``, or raise `InputError`."""
    found = whole_numbers(name, values)
    if any(not 0 <= value < size for value in found):
        raise InputError(f"{name} must be whole numbers from 0 to {size - 1}, got {found!r}")
    return found


def over_range(name: str, ends: Any) -> Real:
    """Return the parameter of a name over a range (low, high), or raise `ParameterError`."""
    given = list(ends) if isinstance(ends, Sequence) and not isinstance(ends, str | bytes) else []
    if isinstance(ends, np.ndarray) and ends.ndim == 1:
        given = as_list(name, ends)
    if len(given) != 2:
        raise ParameterError(f"{name} must be a range of two numbers (low, high), got {ends!r}")
    return Real(name, *given)


def check_type(instance: Any, kind: type) -> None:
    """Raise `InputError` if an instance is of another type."""
    if not isinstance(instance, kind):
        raise InputError(
            f"expected a {kind.__name__}, got {type(instance).__name__}; make one with "
            f"certune.{kind.__name__}(...)"
        )
