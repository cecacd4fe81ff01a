"""What a user hands over, checked at the door: numbers, choices, lists and arrays.

Everything hostile that is not refused here meets arithmetic that does not expect it. Each function
returns the value in the form in which the package works with it, or raises with what was given,
what was expected and what to do.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.errors import InputError, ParameterError

# More workers than any cluster has processors for.
MOST_WORKERS = 100_000


def is_number(value: object) -> bool:
    """Tell whether a value is a real number; a truth value is none."""
    # NumPy calls a span of time an integer.
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.timedelta64)


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number of a type of whole numbers; a truth value is none."""
    return isinstance(value, numbers.Integral) and is_number(value)


def as_float(what: str, value: object) -> float:
    """Return a real number as a float, or raise :class:`ParameterError`."""
    if not is_number(value):
        raise ParameterError(f"{what} must be a number, got {value!r}.")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        raise ParameterError(f"{what} must be within the range of floats, got {value!r}.") from None


def as_float_or_nan(value: object) -> float:
    """Return a real number as a float, and NaN for what is none or beyond the floats."""
    try:
        return as_float("", value)
    except ParameterError:
        return math.nan


def as_positive_seconds(what: str, value: object) -> float:
    """Return a positive number of seconds, or raise :class:`ParameterError`."""
    seconds = as_float(what, value)
    if not seconds > 0:
        raise ParameterError(f"{what} must be a positive number of seconds, got {value!r}.")
    return seconds


def as_fraction(value: Any) -> Fraction:
    """Return a number exactly; raises what `Fraction` does.

    Integers of numpy become Python's: a fraction of them has no hash.
    """
    return Fraction(value.item() if isinstance(value, np.generic) else value)


def is_one_of(value: object, options: Iterable[str]) -> bool:
    """Tell whether a value is one of some words; arrays and other objects are none."""
    return isinstance(value, str) and value in tuple(options)


def skips_errors(on_error: object) -> bool:
    """Return whether failures are left out, or raise :class:`ParameterError`."""
    if not is_one_of(on_error, ("raise", "skip")):
        raise ParameterError(f"on_error must be 'raise' or 'skip', got {on_error!r}.")
    return on_error == "skip"


def as_list(what: str, values: object, hint: str = "pass [item] for one") -> list[Any]:
    """Return the items of an iterable, or raise :class:`InputError`."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"{what} must be a list, got {values!r}: {hint}.")
    refuse_mask(what, values)
    try:
        return list(values)
    except TypeError as error:  # an array without dimensions says that it is iterable
        raise InputError(f"{what} must be a list, got {values!r} ({error}): {hint}.") from None


def refuse_mask(what: str, values: object) -> None:
    """Raise :class:`InputError` for an array with masked entries, which would be ignored."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise InputError(
            f"{what} must be real numbers without a mask: drop the rows of masked entries, or fill "
            "them with .filled(value)."
        )


def as_path(what: str, value: object) -> Path:
    """Return a path, or raise :class:`InputError`."""
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{what} must be a path, as a string or a Path, got {value!r}.")
    return Path(value)


def as_array(what: str, values: object) -> npt.NDArray[np.float64]:
    """Return real numbers as an array of floats, or raise :class:`InputError`."""
    refuse_mask(what, values)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"entries of type {array.dtype}")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be numbers, all of them real: {error}.") from None


def as_labels(what: str, values: object) -> npt.NDArray[Any]:
    """Return labels of any type as an array, or raise :class:`InputError`."""
    refuse_mask(what, values)
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError(f"{what} must be one label for each row: {error}.") from None


def as_n_jobs(n_jobs: object) -> int | None:
    """Return a number of workers as joblib takes it, or raise :class:`ParameterError`."""
    if n_jobs is None:
        return None
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ParameterError(
            f"n_jobs must be a positive integer, -1 for all processors or None, got {n_jobs!r}."
        )
    count: int = int(n_jobs)  # type: ignore[call-overload]
    if count > MOST_WORKERS:
        raise ParameterError(
            f"n_jobs must be at most {MOST_WORKERS} workers, got {n_jobs!r}; -1 takes as many as "
            "there are processors."
        )
    return count
