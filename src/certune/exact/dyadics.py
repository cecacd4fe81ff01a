"""Simple floats: where comparisons tie exactly, it is usually at a number with few digits."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

SIMPLE_BITS = 24  # a float with so few binary digits is likely to be special


def simplest(low: float, high: float) -> float:
    """Return the float with the shortest binary expansion in [low, high]."""
    if low <= 0.0 <= high:
        return 0.0
    if high < 0.0:
        return -simplest(-high, -low)
    (smallest, exponent), (largest, top) = math.frexp(low), math.frexp(high)
    first = int(math.ldexp(smallest, 53))
    last = int(math.ldexp(largest, 53)) << (top - exponent)
    # Clear the bits of the last number below the highest one in which it exceeds the first.
    free = ((first - 1) ^ last).bit_length() - 1
    return math.ldexp(float(last >> free), exponent - 53 + free)


def floats_between(low: float, high: float, most: int) -> list[float]:
    """Return the floats in an open interval if they are at most so many, otherwise none."""
    found: list[float] = []
    t = math.nextafter(low, math.inf)
    while t < high:
        if len(found) == most:
            return []
        found.append(t)
        t = math.nextafter(t, math.inf)
    return found


def significant_bits(t: float) -> int:
    """Return the length of the binary expansion of a float."""
    mantissa = int(math.ldexp(math.frexp(abs(t))[0], 53))
    return 53 - ((mantissa & -mantissa).bit_length() - 1) if mantissa else 0


def is_simple(t: float) -> bool:
    """Tell whether a float has so few binary digits that it is likely to be special."""
    return significant_bits(t) <= SIMPLE_BITS


def holds_simple(low: npt.ArrayLike, high: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Tell which of the open intervals (low[i], high[i]) contain a simple float."""
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    start, stop = np.where(high <= 0.0, (-high, -low), (low, high))
    mantissa, exponent = np.frexp(start)
    # The next larger number with so few digits; powers of two, where the exponent grows, too.
    digits = np.floor(np.ldexp(mantissa, SIMPLE_BITS)) + 1.0
    beyond = np.ldexp(digits, exponent - SIMPLE_BITS) < stop
    around_zero = (start < 0.0) | (stop > 0.0)
    return np.asarray(np.where(start <= 0.0, around_zero, beyond))
