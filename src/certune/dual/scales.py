"""How lengths of a parameter are measured: plainly, or by logarithms.

On a logarithmic scale, as of a penalty weight that ranges over five decades, the interval from
0.01 to 0.1 is as wide as that from 1 to 10. Only choices between intervals depend on it, never
what is proved about a function.
"""

from __future__ import annotations

import math

import numpy as np

from certune.dual.integers import FloatArray
from certune.errors import ParameterError

SCALES = ("linear", "log")


def checked_scale(scale: str, low: float) -> str:
    """Return a scale that suits a domain with the lower end `low`, or raise `ParameterError`."""
    if scale not in SCALES:
        raise ParameterError(f"scale must be one of {SCALES}, got {scale!r}.")
    if scale == "log" and low <= 0.0:
        raise ParameterError(f"A logarithmic scale needs a positive domain, got low={low!r}.")
    return scale


def widths(intervals: FloatArray, scale: str) -> FloatArray:
    """Return the widths of intervals, rows (low, high), rounded."""
    ends = np.log(intervals) if scale == "log" else intervals
    return np.asarray(ends[:, 1] - ends[:, 0])


def middle(low: float, high: float, scale: str) -> float:
    """Return the middle of an interval, rounded, and inside of it."""
    centre = math.sqrt(low) * math.sqrt(high) if scale == "log" else 0.5 * low + 0.5 * high
    return min(max(centre, low), high)
