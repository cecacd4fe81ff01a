"""Arrays as the compiled core takes them: contiguous, and of one type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

REAL, INTEGER, FLAG = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)


def reals(values: npt.ArrayLike) -> Reals:
    """Return numbers as a contiguous array of float64, copied only if they are not one already."""
    return _contiguous(values, REAL, "real numbers")


def integers(values: npt.ArrayLike) -> Integers:
    """Return whole numbers as a contiguous array of int64; anything else is refused."""
    return _contiguous(values, INTEGER, "whole numbers")


def flags(values: npt.ArrayLike) -> Flags:
    """Return truth values as a contiguous array of bool; anything else is refused."""
    return _contiguous(values, FLAG, "truth values")


def _contiguous(values: npt.ArrayLike, dtype: np.dtype[Any], words: str) -> npt.NDArray[Any]:
    if type(values) is np.ndarray and values.dtype is dtype and values.ndim:
        if values.flags.c_contiguous:
            return values  # most calls: small instances would spend their time below
    array = np.asarray(values)
    # An empty list has no type of its own.
    if array.size and not np.can_cast(array.dtype, dtype, casting="same_kind"):
        raise TypeError(f"{words} are expected, not an array of {array.dtype}")
    if array.ndim == 0:
        raise TypeError(f"an array of {words} is expected, not {values!r}")
    return np.ascontiguousarray(array, dtype=dtype)
