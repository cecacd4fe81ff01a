"""Functions of a parameter as JSON data: the one form in which files keep them.

It is that of :meth:`DualFunction.to_arrays` with lists instead of arrays. A reader takes nothing on
trust: every list is checked for its kind and for the size of its numbers before anything is
computed with them.
"""

from __future__ import annotations

import math
import re
import reprlib
from typing import Any

import numpy as np

from certune.dual.function import DualFunction
from certune.dual.integers import IntArray, integer_array
from certune.dual.piecewise import PiecewiseFunction
from certune.dual.polynomial import PiecewisePolynomial
from certune.errors import InputError

# Integers of a stored function have at most this many bits, floats at most this size.
MOST_BITS = 2**17
LARGEST_FLOAT = 2.0**300
LONGEST_NAME = 1000

_REALS = ("starts", "stops")
_INTEGERS = ("numerators", "gap_lower", "gap_upper", "denominator")
_SMOOTH_REALS = ("starts", "stops", "errors", "gap_lower", "gap_upper")
_HEXADECIMAL = re.compile(rf"-?0x[0-9a-f]{{1,{MOST_BITS // 4}}}", re.ASCII)


def to_json(dual: DualFunction) -> dict[str, Any]:
    """Return a function as JSON data."""
    arrays = dual.to_arrays()
    if isinstance(dual, PiecewisePolynomial):
        # Bounds of gaps have no meaning where pieces touch; JSON knows no infinite ones.
        for name in ("gap_lower", "gap_upper"):
            arrays[name] = np.where(np.isfinite(arrays[name]), arrays[name], 0.0)
    return {name: array.tolist() for name, array in arrays.items()}


def from_json(stored: object) -> DualFunction:
    """Return the function that :func:`to_json` has written.

    Raises
    ------
    InputError
        If this is anything else.
    """
    if not isinstance(stored, dict):
        raise InputError(f"a stored function must be a mapping, got {reprlib.repr(stored)}")
    smooth = "coefficients" in stored
    reals, integers = (_SMOOTH_REALS, ()) if smooth else (_REALS, _INTEGERS)
    texts = ("name", "scale") if smooth else ("name",)
    expected = {*reals, *integers, *texts, *(("coefficients",) if smooth else ())}
    if set(stored) != expected:
        raise InputError(
            f"a stored function must have {sorted(expected)}, got {reprlib.repr(sorted(stored))}"
        )
    arrays: dict[str, Any] = {name: _reals(stored[name], name) for name in reals}
    arrays |= {name: _integers(stored[name], name) for name in integers}
    arrays |= {name: _text(stored[name], name) for name in texts}
    if not smooth:
        return PiecewiseFunction.from_arrays(arrays)
    arrays["coefficients"] = _rows(stored["coefficients"])
    return PiecewisePolynomial.from_arrays(arrays)


def is_real(value: object) -> bool:
    """Tell whether JSON data is a number that a finite float can hold."""
    if type(value) is int:
        return value.bit_length() < 1000
    return type(value) is float and math.isfinite(value)


def _reals(stored: object, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not isinstance(stored, list) or not all(map(is_real, stored)):
        raise InputError(f"{name} must be a list of finite numbers, got {reprlib.repr(stored)}")
    numbers = np.array(stored, dtype=np.float64)
    if numbers.size and np.abs(numbers).max() > LARGEST_FLOAT:
        raise InputError(f"{name} must be at most {LARGEST_FLOAT:.0e}, got {reprlib.repr(stored)}")
    return numbers


def _rows(stored: object) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not isinstance(stored, list) or not stored:
        raise InputError(f"coefficients must be rows of numbers, got {reprlib.repr(stored)}")
    rows = [_reals(row, "coefficients") for row in stored]
    if len({row.size for row in rows}) != 1 or rows[0].size == 0:
        raise InputError("coefficients must be rows of the same length")
    return np.array(rows)


def _integers(stored: object, name: str) -> IntArray:
    entries: list[Any] = stored if isinstance(stored, list) else [None]
    if all(type(entry) is int and entry.bit_length() <= MOST_BITS for entry in entries):
        return integer_array(entries)
    if all(isinstance(entry, str) and _HEXADECIMAL.fullmatch(entry) for entry in entries):
        return integer_array([int(entry, 16) for entry in entries])
    raise InputError(
        f"{name} must be a list of integers of at most {MOST_BITS} bits, or of hexadecimal "
        f"strings, got {reprlib.repr(stored)}"
    )


def _text(stored: object, name: str) -> str:
    if not isinstance(stored, str) or len(stored) > LONGEST_NAME:
        raise InputError(f"{name} must be a short string, got {reprlib.repr(stored)}")
    return stored
