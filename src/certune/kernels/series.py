"""Local polynomial models of pair functions: Taylor series, economised, in Bernstein form.

Along a segment every pair of points contributes one smooth positive function of ``t``
(``kernels.pairs`` names the modes).  On a panel ``|t - c| <= h`` this module expands it to
``TERMS`` Taylor terms, cuts the Chebyshev tail down to ``DEGREE`` coefficients and writes the
result in Bernstein form, where a polynomial lies between its smallest and largest coefficient.
Coefficients of cluster pairs are averages (or minima and maxima) of those of point pairs, so a
comparison of two linkage values is certified on a whole interval by comparing coefficients.

The error of a model is one relative number per panel: it covers the Taylor tail, the
economisation, the rounding of every operation and the rounding of the inputs.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.linking import linked

DEGREE = 8  # Bernstein coefficients of a model: a record of eight doubles is one cache line
TERMS = 12  # Taylor terms before economisation; even (see `records.add_model`)
UNIT = 2.0**-53

AFFINE = 0  # value(t) = exp(A + t B)
POWER = 1  # value(t) = exp(alpha(t) A): a fixed distance, A its logarithm
MOVING = 2  # value(t) = (A + t B)^alpha(t): a moving distance

MEAN, MINMAX, MINIMUM, MAXIMUM = 0, 1, 2, 3


def _economised_monomials() -> tuple[np.ndarray, np.ndarray]:
    """Bernstein coefficients of the truncated Chebyshev series of ``u**k`` on [-1, 1].

    Returns the (TERMS, DEGREE) matrix and, per monomial, a bound of the truncation error.
    Everything is computed in rationals and rounded once.
    """
    top = DEGREE - 1
    chebyshev = [[Fraction(1)], [Fraction(0), Fraction(1)]]
    for _ in range(2, DEGREE):
        doubled = [Fraction(0)] + [2 * c for c in chebyshev[-1]]
        for i, c in enumerate(chebyshev[-2]):
            doubled[i] -= c
        chebyshev.append(doubled)
    monomial = [
        [
            sum(
                Fraction(math.comb(j, i), math.comb(top, i))
                * (math.comb(k, i) * 2**i * (-1) ** (k - i))
                for i in range(min(j, k) + 1)
            )
            for j in range(DEGREE)
        ]
        for k in range(DEGREE)
    ]
    bernstein_of_chebyshev = [
        [sum(c * monomial[i][j] for i, c in enumerate(row)) for j in range(DEGREE)]
        for row in chebyshev
    ]
    matrix = np.empty((TERMS, DEGREE))
    error = np.zeros(TERMS)
    for k in range(TERMS):
        # u^k = 2^(1-k) * sum over j = k, k-2, ... of C(k, (k-j)/2) T_j, halved at j = 0
        weights = {
            j: Fraction(math.comb(k, (k - j) // 2), 2 ** (k - 1) if k else 1)
            / (2 if j == 0 and k else 1)
            for j in range(k % 2, k + 1, 2)
        }
        for b in range(DEGREE):
            matrix[k, b] = float(
                sum(w * bernstein_of_chebyshev[j][b] for j, w in weights.items() if j <= top)
            )
        error[k] = float(sum(w for j, w in weights.items() if j > top)) * (1 + 1e-15)
    return matrix, error


MONOMIALS, MONOMIAL_ERRORS = _economised_monomials()
_FACTORIALS = np.array([math.factorial(k) for k in range(TERMS + 2)], dtype=np.float64)


def folded(table: np.ndarray) -> np.ndarray:
    """Half of a table of Taylor coefficients, flat; the other half follows by symmetry.

    On [-1, 1] even monomials have symmetric Bernstein coefficients, odd ones antisymmetric: row i
    holds the first four coefficients of the powers 2i and 2i + 1.
    """
    half = DEGREE // 2
    return np.hstack((table[0::2, :half], table[1::2, :half])).ravel()


EXPONENTIAL = folded(MONOMIALS / _FACTORIALS[:TERMS, None])
DIFFERENCE_QUOTIENT = folded(MONOMIALS / _FACTORIALS[1 : TERMS + 1, None])

_LOG2_HIGH = 6.93147180369123816490e-01  # its last 32 bits are zero
_LOG2_LOW = 1.90821492927058770002e-10
_MONOMIAL_SIZES = np.abs(MONOMIALS).max(axis=1)
_LOG_FACTORIALS = np.array([math.lgamma(k + 1.0) for k in range(TERMS)])

# Shares of a disc's radius that h can be, for Cauchy's estimate of the tail and of coefficients.
_TAIL_SHARES = np.array([1.0 / (1.0 + 0.4 * step) for step in range(1, 40)])
_LOG_TAILS = TERMS * np.log(_TAIL_SHARES) - np.log1p(-_TAIL_SHARES)
_SHARES = np.array([1.0 / (1.0 + 0.5 * step) for step in range(1, 25)])
_LOG_SHARES = np.array([math.log(share) for share in _SHARES])


@linked
def model_error(half_width, rate, ratio, power, power_rate, log_size, n_points, input_error):
    """Relative error of the models on a panel; infinite if no bound holds.

    With ``|y(tau)| <= B(tau)`` for the exponent ``y`` relative to the panel's centre, the value
    stays within ``exp(+-B(h))`` of its centre value, its Taylor coefficients are bounded by those
    of ``exp(B)``, and the tail by Cauchy's estimate on any disc of radius ``R > h``.

    Parameters
    ----------
    half_width : float
        h.
    rate : float
        Largest |dy/dt| of the exponent when it is affine (modes AFFINE and POWER); 0 otherwise.
    ratio : float
        Largest |slope / value| of a moving distance at the centre; 0 if distances are fixed.
    power, power_rate, log_size : float
        |alpha| at the centre, |d alpha / dt|, largest |log distance| at the centre (MOVING).
    n_points : int
        Bounds the depth of the sums: averages add up the members of one cluster, then those of
        the other (2 n roundings), and merges average averages (3 n); 16 n are charged.
    input_error : float
        Relative error of a value that stems from rounded inputs and elementary functions.
    """
    spread = _exponent_bound(half_width, rate, ratio, power, power_rate, log_size)
    if not spread < 8.0:
        return np.inf
    lost = _tail(half_width, rate, ratio, power, power_rate, log_size)
    size = 0.0
    fixed = ratio == 0.0 and power_rate == 0.0
    log_spread = math.log(max(half_width * rate, 1e-300))
    exponents = np.empty(_SHARES.size)
    if not fixed:
        for i in range(_SHARES.size):
            radius = half_width / _SHARES[i]
            exponents[i] = _exponent_bound(radius, rate, ratio, power, power_rate, log_size)
    for k in range(TERMS):
        # The disc of radius h itself bounds every coefficient.
        exponent = spread
        if fixed:
            exponent = k * log_spread - _LOG_FACTORIALS[k]
        else:
            for i in range(_SHARES.size):
                exponent = min(exponent, exponents[i] + k * _LOG_SHARES[i])
        coefficient = math.exp(exponent)
        lost += coefficient * MONOMIAL_ERRORS[k]
        size += coefficient * _MONOMIAL_SIZES[k]
    rounding = UNIT * (6.0 * TERMS + 16.0 * n_points + 64.0)
    return math.exp(spread) * (lost + rounding * size) + input_error


@linked
def _tail(half_width, rate, ratio, power, power_rate, log_size):
    """Bound of the sum of the Taylor coefficients from TERMS on, times h**k.

    Every disc gives one; logarithms are enough to find the best.
    """
    best = np.inf
    tail = np.inf
    chosen = -1
    exponent = 0.0
    for i in range(_TAIL_SHARES.size):
        radius = half_width / _TAIL_SHARES[i]
        bound = _exponent_bound(radius, rate, ratio, power, power_rate, log_size)
        if bound < 600.0 and bound + _LOG_TAILS[i] < best:
            best = bound + _LOG_TAILS[i]
            exponent = bound
            chosen = i
    if chosen >= 0:
        share = _TAIL_SHARES[chosen]
        tail = math.exp(exponent) * share**TERMS / (1.0 - share)
    return tail


@linked
def _exponent_bound(radius, rate, ratio, power, power_rate, log_size):
    """Bound of |y| on the complex disc of that radius around the centre."""
    if ratio * radius >= 1.0:
        return np.inf
    log_growth = -math.log1p(-ratio * radius) if ratio > 0.0 else 0.0
    return rate * radius + power * log_growth + power_rate * radius * (log_size + log_growth)


@borrowing
def exponentials(values, exponents, count):
    """Replace the first ``count`` values by their exponentials, within 5 UNIT relatively.

    Written out (reduction by log 2, Taylor polynomial of degree 13) so that the loop vectorises,
    which calls of ``math.exp`` do not.  Arguments beyond +-700 are clipped there.  With
    |r| < 0.35 the last two operations and what Horner's rule hands on add up to 2.6 UNIT
    absolutely, on values of at least 0.7; the reduction adds half a UNIT and the truncated tail,
    0.35^14 / 14!, nothing.  `model_error` charges 64.
    """
    for i in range(count):
        y = min(max(values[i], -700.0), 700.0)
        n = np.floor(y * 1.4426950408889634 + 0.5)
        r = (y - n * _LOG2_HIGH) - n * _LOG2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        values[i] = p * r + 1.0
        exponents[i] = np.int64(n)
    bits = values.view(np.int64)
    for i in range(count):
        bits[i] += exponents[i] << 52


@linked
def moving_series(distance, slope, power, power_rate, half_width, box_cox, out, work):
    """Taylor terms, times h**k, of a moving distance to a moving power.

    ``distance`` is relative to the common scale.  With ``box_cox`` the function is
    ``(d**alpha - 1) / alpha`` about a zero of alpha (``power`` is then ignored), or log d if
    alpha vanishes identically.
    """
    ratio = slope / distance * half_width
    log_distance = math.log(distance)
    # work[k]: coefficients of log d; then of the exponent y = alpha * log d
    work[0] = log_distance
    factor = -ratio
    term = 1.0
    for k in range(1, TERMS + 1):
        term *= factor
        work[k] = -term / k
    if box_cox and power_rate == 0.0:
        for k in range(TERMS):
            out[k] = work[k]
        return
    start = 0.0 if box_cox else power
    scaled_rate = power_rate * half_width
    for k in range(TERMS, 0, -1):
        work[k] = start * work[k] + scaled_rate * work[k - 1]
    work[0] = start * work[0]
    first = math.exp(work[0])
    # e_k = (1/k) sum_j j y_j e_(k-j); with box_cox the series starts at e_1 and is shifted
    series = np.empty(TERMS + 1)
    series[0] = first
    for k in range(1, TERMS + 1):
        total = 0.0
        for j in range(1, k + 1):
            total += j * work[j] * series[k - j]
        series[k] = total / k
    if box_cox:
        for k in range(TERMS):
            out[k] = series[k + 1] / scaled_rate
    else:
        for k in range(TERMS):
            out[k] = series[k]
