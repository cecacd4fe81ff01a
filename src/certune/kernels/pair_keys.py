"""Places of pairs in flat arrays that hold every pair once."""

from __future__ import annotations

from certune.kernels.borrowing import borrowing


@borrowing
def key_of(a, b):
    """Place of a pair of different numbers; those of 0, ..., m - 1 come before all with m."""
    return (a * (a - 1) >> 1) + b if b < a else (b * (b - 1) >> 1) + a
