"""Matrix-vector products in twice the working precision, rounded once.

Residuals of an almost exact solution are differences of almost equal numbers. With products
and sums whose rounding errors are carried along (Dekker's product, Knuth's sum) a component of
the result differs from the exact one by at most u times itself plus (n u)^2 times the sum of
absolute products, u = 2**-53.
"""

from __future__ import annotations

import numpy as np
from numba import njit

SPLITTER = 134217729.0  # 2**27 + 1


@njit(cache=True, nogil=True)
def accurate_transposed_product(matrix, vector):
    """Return ``matrix.T @ vector``, for a matrix whose rows are contiguous."""
    total, lost = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            total[j], lost[j] = _add_product(matrix[i, j], vector[i], total[j], lost[j])
    return total + lost


@njit(cache=True, nogil=True)
def _add_product(a, b, total, lost):
    product = a * b
    big = SPLITTER * a
    a_high = big - (big - a)
    a_low = a - a_high
    big = SPLITTER * b
    b_high = big - (big - b)
    b_low = b - b_high
    rest = ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    product_error = a_low * b_low - rest
    new = total + product
    shift = new - total
    sum_error = (total - (new - shift)) + (product - shift)
    return new, lost + (product_error + sum_error)
