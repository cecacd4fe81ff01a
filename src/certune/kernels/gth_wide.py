"""Elimination without subtraction when weights leave the range of floats.

At a very small bandwidth the weights of edges that matter can differ by more than all doubles.
Here every number is a double in [1/2, 1) times a power of two of its own.  The steps are those of
`certune.kernels.gth`, at about twenty times the cost.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from certune.kernels.gth import exponent_row
from certune.kernels.series import exponentials

_LOG2_HIGH = 0.6931471805599453
_LOG2_LOW = 2.3190468138462996e-17
_ZERO = -(2**62)  # exponent of the number 0
_NEGLIGIBLE = 1100  # 2**-1100 is below all doubles
_SPLITTER = 134217729.0


@njit(cache=True, nogil=True)
def _normal(value, scale):
    if value == 0.0:
        return 0.0, _ZERO
    mantissa, exponent = math.frexp(value)
    return mantissa, scale + exponent


@njit(cache=True, nogil=True)
def _add(first, first_scale, second, second_scale):
    if first_scale < second_scale:
        first, first_scale, second, second_scale = second, second_scale, first, first_scale
    if first_scale - second_scale > _NEGLIGIBLE or second == 0.0:
        return first, first_scale
    return _normal(first + math.ldexp(second, second_scale - first_scale), first_scale)


@njit(cache=True, nogil=True)
def _wide_exponentials(high, low, scales, work, count):
    """Replace high by ``exp(high + low)`` as value and scale, within 8 UNIT, |high| up to 1e12."""
    split = _SPLITTER * _LOG2_HIGH
    log_top = split - (split - _LOG2_HIGH)
    log_rest = _LOG2_HIGH - log_top
    for j in range(count):
        scale = np.floor(high[j] / _LOG2_HIGH + 0.5)
        product = scale * _LOG2_HIGH
        split = _SPLITTER * scale
        top = split - (split - scale)
        rest = scale - top
        error = ((top * log_top - product) + top * log_rest + rest * log_top) + rest * log_rest
        high[j] = (high[j] - product) + (low[j] - error - scale * _LOG2_LOW)
        scales[j] = np.int64(scale)
    exponentials(high, work, count)


@njit(cache=True, nogil=True)
def transition_shares(
    between, to_labelled, is_edge, is_edge_to_labelled, class_of, rates, rate_errors, n_classes
):
    """Shares of a node's weight, when it is eliminated, among later nodes and the classes.

    The same as `eliminate` followed by a division of every row by its sum, so that `substitute`
    can go on with sums of 1.  Shares below the range of doubles are 0.
    """
    n, n_labelled = to_labelled.shape[1:]
    size = n + n_classes
    values = np.zeros((n, size))
    scales = np.full((n, size), _ZERO)
    longest = max(n, n_labelled)
    high, low = np.empty(longest), np.empty(longest)
    powers, work = np.empty(longest, dtype=np.int64), np.empty(longest, dtype=np.int64)
    for i in range(n):
        exponent_row(between[:, i], rates, rate_errors, 0.0, high, low, n)
        _wide_exponentials(high, low, powers, work, n)
        for j in range(i + 1, n):
            if is_edge[i, j]:
                values[i, j], scales[i, j] = _normal(high[j], powers[j])
        exponent_row(to_labelled[:, i], rates, rate_errors, 0.0, high, low, n_labelled)
        _wide_exponentials(high, low, powers, work, n_labelled)
        for j in range(n_labelled):
            if is_edge_to_labelled[i, j]:
                c = n + class_of[j]
                value, scale = _normal(high[j], powers[j])
                values[i, c], scales[i, c] = _add(values[i, c], scales[i, c], value, scale)
    shares = np.zeros((n, size))
    for p in range(n):
        top = np.int64(_ZERO)
        for j in range(p + 1, size):
            top = max(top, scales[p, j])
        total, lost = 0.0, 0.0
        for j in range(p + 1, size):
            if scales[p, j] >= top - _NEGLIGIBLE:
                term = math.ldexp(values[p, j], scales[p, j] - top) - lost
                raised = total + term
                lost = (raised - total) - term
                total = raised
        for j in range(p + 1, size):
            if scales[p, j] >= top - _NEGLIGIBLE:
                shares[p, j] = math.ldexp(values[p, j], scales[p, j] - top) / total
        for i in range(p + 1, n):
            if values[p, i] == 0.0:
                continue
            ratio, ratio_scale = _normal(values[p, i] / total, scales[p, i] - top)
            for j in range(i + 1, size):
                if values[p, j] != 0.0:
                    value, scale = _normal(ratio * values[p, j], ratio_scale + scales[p, j])
                    values[i, j], scales[i, j] = _add(values[i, j], scales[i, j], value, scale)
    return shares
