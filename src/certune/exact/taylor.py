"""Sign of an analytic function on an interval, from a ball Taylor series and a tail bound."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, ctx, fmpq

from certune.exact.precision import PRECISION_LOCK

Expansion = Callable[[arb, arb, int], tuple[list[arb], arb]]
"""(centre, half width, terms) -> Taylor coefficients times h**k, and a bound of the tail."""

PRECISION = 256
TERMS = (6, 40)  # narrow intervals need few
DEPTH = 14


def sign_on_interval(
    expand: Expansion,
    low: float | fmpq,
    high: float | fmpq,
    *,
    zeros_low: int = 0,
    zeros_high: int = 0,
) -> int | None:
    """Sign of a function on [low, high] if it is constant and can be proved, else ``None``.

    Parameters
    ----------
    expand : callable
        Expansion of the function on any sub-interval.
    low, high : float or rational
        The interval.
    zeros_low, zeros_high : int
        Order to which the function is known to vanish at that end (at most at one of them); the
        sign is then asked for inside only.
    """
    with PRECISION_LOCK, ctx.workprec(PRECISION):
        return _sign(expand, arb(low), arb(high), zeros_low, zeros_high, DEPTH)


def _sign(
    expand: Expansion, low: arb, high: arb, zeros_low: int, zeros_high: int, depth: int
) -> int | None:
    half = (high - low) / 2
    zeros = zeros_low or zeros_high
    for n_terms in TERMS:
        if zeros:
            # Expand at the zero, divide it out, and look at the quotient on one side of it.
            coefficients, tail = expand(low if zeros_low else high, 2 * half, n_terms)
            if zeros_high:
                coefficients = [-c if k % 2 else c for k, c in enumerate(coefficients)]
            values = _one_sided(coefficients[zeros:])
        else:
            coefficients, tail = expand(low + half, half, n_terms)
            values = _two_sided(coefficients)
        sign = _common_sign(values, tail)
        if sign is not None:
            return sign
        ends = [_common_sign([value], tail) for value in (values[0], values[-1])]
        if None not in ends and ends[0] != ends[1]:
            return None
    if depth == 0:
        return None
    cut = low + half
    if zeros:
        # The zero is isolated on a shorter stretch, the rest is ordinary.
        cut = low + half / 8 if zeros_low else high - half / 8
    left = _sign(expand, low, cut, zeros_low, 0, depth - 1)
    if left is None:
        return None
    right = _sign(expand, cut, high, 0, zeros_high, depth - 1)
    return left if left == right else None


def _common_sign(values: list[arb], tail: arb) -> int | None:
    if all(value - tail > 0 for value in values):
        return 1
    if all(value + tail < 0 for value in values):
        return -1
    return None


def _one_sided(coefficients: list[arb]) -> list[arb]:
    """Bernstein coefficients on [0, 1] of a polynomial in the power basis."""
    top = len(coefficients) - 1
    scaled = []
    binomial = 1
    for k, coefficient in enumerate(coefficients):
        scaled.append(coefficient / binomial)
        binomial = binomial * (top - k) // (k + 1)
    # b_j = sum_k C(j, k) / C(top, k) a_k: a triangle of forward sums
    row = scaled
    values = [row[0]]
    for _ in range(top):
        row = [row[i] + row[i + 1] for i in range(len(row) - 1)]
        values.append(row[0])
    return values


def _two_sided(coefficients: list[arb]) -> list[arb]:
    """Bernstein coefficients on [-1, 1] of a polynomial in the power basis.

    The substitution u = 2 s - 1 is a Taylor shift, done by repeated synthetic division.
    """
    shifted = list(coefficients)
    n = len(shifted)
    for i in range(n):
        for k in range(n - 2, i - 1, -1):
            shifted[k] = shifted[k] - shifted[k + 1]
    return _one_sided([coefficient * 2**k for k, coefficient in enumerate(shifted)])
