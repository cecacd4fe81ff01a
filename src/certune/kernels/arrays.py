"""Arrays as the compiled core takes them: contiguous, of one type, of a known dimension."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def reals(values: npt.ArrayLike) -> Reals:
    """Return values as a contiguous array of float64, copied only if they are not one already."""
    return np.ascontiguousarray(values, dtype=np.float64)


def integers(values: npt.ArrayLike) -> Integers:
    """Return whole numbers as a contiguous array of int64; anything else is refused."""
    array = np.asarray(values)
    if array.size and not np.can_cast(array.dtype, np.int64, casting="same_kind"):
        raise TypeError(f"whole numbers are expected, not an array of {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)


def flags(values: npt.ArrayLike) -> Flags:
    """Return truth values as a contiguous array of bool."""
    return np.ascontiguousarray(values, dtype=np.bool_)
