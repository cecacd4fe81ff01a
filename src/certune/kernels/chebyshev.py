"""Sums of Chebyshev polynomials, evaluated and expanded anew on parts of their intervals.

Row r of a coefficient matrix is the polynomial ``sum_k c[r, k] T_k(s)`` on -1 <= s <= 1, of which
the first ``n_terms[r]`` coefficients count. Rounding errors are bounded in
:mod:`certune.dual.chebyshev`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _clenshaw(coefficients, row, n_terms, s):
    ahead, after = 0.0, 0.0
    twice = 2.0 * s
    for k in range(n_terms - 1, 0, -1):
        ahead, after = coefficients[row, k] + (twice * ahead - after), ahead
    return coefficients[row, 0] + (s * ahead - after)


@njit(cache=True, nogil=True)
def evaluate(coefficients, n_terms, rows, points):
    """Return the value of polynomial ``rows[i]`` at ``points[i]``, for every i."""
    values = np.empty(rows.size)
    for i in range(rows.size):
        values[i] = _clenshaw(coefficients, rows[i], n_terms[rows[i]], points[i])
    return values


@njit(cache=True, nogil=True)
def add_samples(samples, n_nodes, coefficients, n_terms, rows, left, right):
    """Add the values of polynomial ``rows[i]`` at the Chebyshev points of ``[left, right][i]``.

    ``samples[i, :n_nodes[i]]`` is increased in place; a negative row is passed over.
    """
    for cell in range(rows.size):
        row = rows[cell]
        if row < 0:
            continue
        count = n_nodes[cell]
        middle = 0.5 * left[cell] + 0.5 * right[cell]
        half = 0.5 * right[cell] - 0.5 * left[cell]
        for j in range(count):
            node = math.cos(math.pi * (2 * j + 1) / (2 * count))
            s = min(max(middle + half * node, -1.0), 1.0)
            samples[cell, j] += _clenshaw(coefficients, row, n_terms[row], s)


@njit(cache=True, nogil=True)
def interpolate(samples, n_nodes):
    """Return the coefficients of the polynomials through values at Chebyshev points."""
    coefficients = np.zeros(samples.shape)
    cosines = np.empty(4 * samples.shape[1])
    size = 0
    for cell in range(samples.shape[0]):
        count = n_nodes[cell]
        if count != size:
            size = count
            for i in range(4 * size):
                cosines[i] = math.cos(math.pi * i / (2 * size))
        for k in range(size):
            total = 0.0
            for j in range(size):
                total += samples[cell, j] * cosines[k * (2 * j + 1) % (4 * size)]
            coefficients[cell, k] = total * (2.0 if k > 0 else 1.0) / size
    return coefficients
