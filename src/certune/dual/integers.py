"""Arrays of exact integers.

Utilities are counts, so functions of a parameter are stored as integers over a common
denominator. Almost always the integers are small and numpy adds them at full speed; sums over
instances of many different sizes can outgrow 64 bits. An array here is therefore int64 while
every entry is below ``2**62`` in magnitude, and holds Python integers otherwise; nothing ever
wraps around.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from certune.checks import refuse_mask
from certune.errors import InputError, ParameterError

IntArray: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.float64]

# The sum or difference of two admitted int64 entries still fits into int64.
INT64_LIMIT = 2**62
# Integers up to here are floats, so that one float division rounds their quotient correctly.
FLOAT_INTEGER_LIMIT = 2**53


def as_integers(values: Iterable[Any], what: str) -> IntArray:
    """Return `values` as a one-dimensional array of exact integers.

    Raises :class:`InputError`, naming `what`, if an entry is not an integer.
    """
    refuse_mask(what, values)
    if isinstance(values, np.ndarray) and values.dtype == np.int64 and values.ndim == 1:
        return values
    try:
        entries = [operator.index(value) for value in values]
    except TypeError as error:
        raise InputError(
            f"{what} must be a sequence of integers, got {values!r}; "
            "use PiecewiseFunction.from_values for floats and fractions."
        ) from error
    return compact(integer_array(entries))


def integer_array(entries: list[int]) -> IntArray:
    """Return an array of integers of any size, which `compact` may have to convert."""
    try:
        return np.array(entries, dtype=np.int64)
    except OverflowError:
        return _object_array(entries)


def compact(integers: IntArray) -> IntArray:
    """Return the same integers as int64 if all are below the limit, else as Python integers."""
    fits = magnitude(integers) < INT64_LIMIT
    if fits == (integers.dtype == np.int64):
        return integers
    return integers.astype(np.int64 if fits else object)


def magnitude(integers: IntArray) -> int:
    """Return the largest absolute value, 0 for an empty array."""
    if integers.size == 0:
        return 0
    return max(int(integers.max()), -int(integers.min()))


def times(integers: IntArray, factor: int) -> IntArray:
    """Return ``integers * factor``."""
    if max(magnitude(integers), 1) * abs(factor) >= INT64_LIMIT:
        integers = integers.astype(object)
    return integers * factor


def divided(integers: IntArray, divisor: int) -> IntArray:
    """Return ``integers / divisor``, for a common divisor of all entries."""
    # The divisor is larger than an int64 entry only if all entries are zero.
    return integers if divisor >= INT64_LIMIT > magnitude(integers) else integers // divisor


def common_divisor(integers: IntArray, denominator: int) -> int:
    """Return the greatest common divisor of all entries and the denominator."""
    if integers.dtype == np.int64:
        return math.gcd(denominator, int(np.gcd.reduce(integers)))
    return math.gcd(denominator, *integers.tolist())


def quotients(integers: IntArray, denominator: int) -> FloatArray:
    """Return ``integers / denominator``, each correctly rounded; beyond the floats, infinity."""
    if integers.dtype == np.int64 and denominator <= FLOAT_INTEGER_LIMIT:
        if magnitude(integers) <= FLOAT_INTEGER_LIMIT:
            return integers / float(denominator)
    entries = [nearest(Fraction(entry, denominator)) for entry in integers.tolist()]
    return np.array(entries, dtype=np.float64)


def over_common_denominator(values: Iterable[Any], what: str) -> tuple[list[int], int]:
    """Write floats, integers and fractions as integers over one positive denominator.

    Floats are taken as the dyadic rationals that they are. Raises :class:`InputError`, naming
    `what`, for entries that are not finite numbers.
    """
    values = list(values)
    if all(type(value) is int for value in values):
        return values, 1
    try:
        ratios = [_integer_ratio(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be finite numbers, got {values!r}.") from error
    denominator = math.lcm(*(ratio[1] for ratio in ratios))
    return [top * (denominator // bottom) for top, bottom in ratios], denominator


def as_fraction(value: object) -> Fraction | None:
    """Return a float, integer or fraction exactly; None for anything but a finite number."""
    try:
        return Fraction(*_integer_ratio(value))
    except (TypeError, ValueError, OverflowError):
        return None


def checked_level(level: object) -> Fraction:
    """Return the level of a superlevel set exactly, or raise :class:`ParameterError`."""
    exact = as_fraction(level)
    if exact is None:
        raise ParameterError(f"level must be a finite number, got {level!r}.")
    return exact


def _integer_ratio(value: Any) -> tuple[int, int]:
    if isinstance(value, (float, Fraction, np.floating)):
        return value.as_integer_ratio()
    return operator.index(value), 1


def nearest(value: Fraction) -> float:
    """Return the float nearest to `value`; beyond the floats, infinity."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def rounded_down(value: Fraction) -> float:
    """Return the largest float that is not above `value`."""
    result = nearest(value)
    return math.nextafter(result, -math.inf) if result > value else result


def rounded_up(value: Fraction) -> float:
    """Return the smallest float that is not below `value`."""
    return -rounded_down(-value)


def encoded(integers: IntArray) -> npt.NDArray[Any]:
    """Return an array for a file: int64 as it is, Python integers as hexadecimal strings."""
    if integers.dtype == np.int64:
        return integers
    return np.array([hex(entry) for entry in integers.tolist()], dtype=np.str_)


def decoded(stored: npt.NDArray[Any], what: str) -> IntArray:
    """Return the integers that :func:`encoded` has written."""
    if stored.dtype.kind != "U":
        return as_integers(stored, what)
    try:
        return _object_array([int(text, 16) for text in stored.tolist()])
    except ValueError as error:
        raise InputError(f"{what} must be hexadecimal integers, got {stored!r}.") from error


def _object_array(entries: list[int]) -> IntArray:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array
