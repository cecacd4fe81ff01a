"""What a user may pass as parameters of the harmonic method, read and refused in one place."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from certune.checks import as_float_or_nan
from certune.errors import ParameterError
from certune.suggestions import suggested

SMALLEST_SIGMA, LARGEST_SIGMA = 1e-100, 1e100


def bandwidth(value: Any) -> float:
    """A bandwidth as a float, or raise."""
    number = as_float_or_nan(value)
    if not SMALLEST_SIGMA <= number <= LARGEST_SIGMA:
        raise ParameterError(
            f"sigma must be a positive number of ordinary size, from {SMALLEST_SIGMA:.0e} to "
            f"{LARGEST_SIGMA:.0e}, got {value!r}"
        )
    return number


def bandwidth_or_range(sigma: Any) -> tuple[float, float] | float:
    """A fixed bandwidth, or the range (low, high) over which it is tuned."""
    if not isinstance(sigma, (tuple, list)) and not (isinstance(sigma, np.ndarray) and sigma.ndim):
        return bandwidth(sigma)
    if len(sigma) != 2:
        raise ParameterError(f"sigma must be a number or a range (low, high), got {sigma!r}")
    low, high = (bandwidth(end) for end in sigma)
    if not low < high:
        raise ParameterError(f"the range of sigma must have low < high, got {sigma!r}")
    return low, high


def count_or_none(name: str, value: Any) -> int | None:
    """A whole number of at least 1, of any integer type, or None."""
    if value is None:
        return None
    try:
        number = 0 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False, of any Boolean type."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def setting(params: Any, free: tuple[str, ...]) -> Mapping[str, Any]:
    """Values by name: all free parameters, perhaps others; a number stands for sigma alone."""
    if not isinstance(params, Mapping) and free != ("sigma",):
        raise ParameterError(f"got {params!r}; expected a mapping with the free parameters {free}")
    values: Mapping[str, Any] = params if isinstance(params, Mapping) else {"sigma": params}
    unknown = [name for name in values if name not in ("sigma", "weights")]
    if unknown:
        raise ParameterError(
            f"unknown parameter {unknown[0]!r}{suggested(str(unknown[0]), ('sigma', 'weights'))}"
        )
    for name in free:
        if name not in values:
            raise ParameterError(f"parameter {name!r} is free and must be given")
    return values
