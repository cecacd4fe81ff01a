"""Places among the floats."""

from __future__ import annotations

from collections.abc import Callable


def last_float(low: float, high: float, holds: Callable[[float], bool]) -> float:
    """Return the last float up to which a condition holds from low on, by bisection.

    It holds at low, and fails up to high from the first float on at which it fails.
    """
    if holds(high):
        return high
    while (middle := 0.5 * low + 0.5 * high) not in (low, high):
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
