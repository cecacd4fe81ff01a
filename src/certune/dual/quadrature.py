"""Integrals of piecewise polynomials, also where the polynomials are in log t.

Gauss-Legendre quadrature with N nodes is exact up to degree 2 N - 1. In log t the integrand is a
polynomial of degree n times exp(z s), which a polynomial of degree K meets up to
2 sum_{k > K} I_k(z) <= 2 e^z (z / 2)^(K + 1) / (K + 1)! / (1 - z / (2 K)), by I_k(z) <= e^z (z /
2)^k / k!. With K = EXTRA_DEGREES + ceil(4 z) this is below the rounding error.
"""

from __future__ import annotations

import math

import numpy as np

from certune.dual.chebyshev import ROUNDED_UP, UNIT, PolynomialPieces
from certune.kernels.numeric import evaluate

EXTRA_DEGREES = 40


def integral_bounds(pieces: PolynomialPieces) -> tuple[float, float]:
    """Return bounds of the integral over the domain, rounded outward."""
    lower = upper = 0.0
    for row in range(pieces.starts.size):
        value, reach = _piece(pieces, row)
        lower, upper = lower + (value - reach), upper + (value + reach)
    gaps = pieces.starts[1:] - pieces.stops[:-1]
    is_open = gaps > 0
    lower += float(gaps[is_open] @ pieces.gap_lower[is_open])
    upper += float(gaps[is_open] @ pieces.gap_upper[is_open])
    largest = max(
        float(pieces.sizes.max() + pieces.errors.max()),
        float(np.abs(pieces.gap_lower[is_open]).max(initial=0.0)),
        float(np.abs(pieces.gap_upper[is_open]).max(initial=0.0)),
    )
    width = float(pieces.stops[-1] - pieces.starts[0])
    rounding = 4 * (pieces.starts.size + 2) * UNIT * largest * width * ROUNDED_UP
    return lower - rounding, upper + rounding


def _piece(pieces: PolynomialPieces, row: int) -> tuple[float, float]:
    """Return the integral over a piece and a bound of its error."""
    start, stop = float(pieces.starts[row]), float(pieces.stops[row])
    if start == stop:
        return 0.0, 0.0
    half_log = 0.5 * math.log1p((stop - start) / start) if pieces.scale == "log" else 0.0
    degree = int(pieces.n_terms[row]) + math.ceil(4 * half_log) + EXTRA_DEGREES
    count = degree // 2 + 1
    nodes, weights = np.polynomial.legendre.leggauss(count)
    rows = np.full(count, row, dtype=np.int64)
    values = evaluate(pieces.polynomials, rows, nodes)
    if pieces.scale == "log":
        # dt/ds = half_log * t, with t measured from the upper end.
        weights = weights * half_log * stop * np.exp(half_log * (nodes - 1.0))
    else:
        weights = weights * 0.5 * (stop - start)
    size = float(pieces.sizes[row])
    reach = float(pieces.errors[row] + pieces.slacks[row])
    # leggauss gives nodes and weights to a few u for the counts that occur here.
    reach += 64 * (count + half_log) * UNIT * size
    measure = max(stop - start, float(weights.sum()))
    return float(weights @ values), reach * measure * ROUNDED_UP
