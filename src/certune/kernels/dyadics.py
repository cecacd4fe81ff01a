"""Which of many intervals hold a simple float, where comparisons are likely to tie exactly."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from certune.kernels.linking import linked

SIMPLE_BITS = 24  # a float with so few binary digits is likely to be special


@linked
def holds_coarse(low, high):
    """Does [low, high] contain a multiple of ``2**-SIMPLE_BITS``?"""
    return math.ceil(math.ldexp(low, SIMPLE_BITS)) <= math.ldexp(high, SIMPLE_BITS)


@njit(cache=True, nogil=True)
def holds_simple(low, high):
    """Tell which of the open intervals (low[i], high[i]) contain a simple float."""
    inside = np.empty(low.size, np.bool_)
    for i in range(low.size):
        start = low[i]
        stop = high[i]
        if stop <= 0.0:
            start, stop = -stop, -start
        if start <= 0.0:
            inside[i] = start < 0.0 or stop > 0.0
            continue
        mantissa, exponent = math.frexp(start)
        # The next larger number with so few digits; powers of two, where the exponent grows, too.
        digits = math.floor(math.ldexp(mantissa, SIMPLE_BITS)) + 1.0
        inside[i] = math.ldexp(digits, exponent - SIMPLE_BITS) < stop
    return inside
