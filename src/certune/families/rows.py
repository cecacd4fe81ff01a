"""Tables of numbers and weights of their rows, checked once where an instance is made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.checks import as_array
from certune.errors import InputError

FloatArray = NDArray[np.float64]


def checked_features(values: ArrayLike, what: str) -> FloatArray:
    """Return a table of finite numbers, copied; raise `InputError` if it is none.

    Parameters
    ----------
    values : array-like of shape (m, p)
        The table.
    what : str
        How messages call it.
    """
    # Adding zero copies, and turns -0.0 into 0.0.
    array = np.ascontiguousarray(as_array(what, values) + 0.0)
    if array.ndim != 2 or array.size == 0:
        raise InputError(
            f"{what} must be a table of at least one row and column, got the shape {array.shape}"
        )
    if not np.isfinite(array).all():
        row, column = np.argwhere(~np.isfinite(array))[0].tolist()
        raise InputError(
            f"{what} has the value {array[row, column]} in row {row}, column {column}; impute or "
            "drop what is missing"
        )
    if np.abs(array).max() > 1e100:
        raise InputError(f"{what} has values beyond 1e100; divide the columns by their scale")
    return array


def checked_weights(values: ArrayLike | None, what: str, size: int) -> FloatArray | None:
    """Return weights of rows, or None if all are 1; raise `InputError` if not usable.

    Parameters
    ----------
    values : array-like of shape (size,), float or None
        The weights; one number stands for all.
    what : str
        How messages call them.
    size : int
        Number of rows.
    """
    if values is None:
        return None
    array = as_array(what, values) + 0.0
    if array.ndim == 0:
        array = np.full(size, float(array))
    if array.shape != (size,):
        raise InputError(f"{what} must have one number for each of {size} rows, got {array.shape}")
    wrong = np.flatnonzero(~((array >= 0.0) & (array < 1e100)))
    if wrong.size:
        raise InputError(
            f"{what} has the value {array[wrong[0]]} in row {wrong[0]}; weights must be finite and "
            "at least 0: drop rows that should not count"
        )
    if not array.any():
        raise InputError(f"{what} is 0 for all rows; give at least one row a positive weight")
    return None if (array == 1.0).all() else array


def check_split(features: FloatArray, validation: FloatArray | None, name: Any) -> None:
    """Raise `InputError` if training and validation data, or the name, do not fit.

    Parameters
    ----------
    features, validation : ndarray or None
        Tables of the training and of the validation data.
    name : str or None
        What the instance is called.
    """
    if name is not None and not isinstance(name, str):
        raise InputError(f"name must be a string, got {name!r}")
    if validation is not None and features.shape[1] != validation.shape[1]:
        raise InputError(
            f"X and X_val must have the same columns, got {features.shape[1]} and "
            f"{validation.shape[1]}"
        )


def set_fields(instance: Any, fields: dict[str, Any]) -> None:
    """Set fields of a frozen value once; arrays become read-only."""
    for field, value in fields.items():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(instance, field, value)


def described(features: FloatArray, name: str | None, points: str) -> str:
    """Return the part of a representation that instances of rows share."""
    label = "" if name is None else f"{name!r}, "
    plural = "" if features.shape[1] == 1 else "s"
    return f"{label}{points}, {features.shape[1]} feature{plural}"
