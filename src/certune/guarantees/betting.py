r"""Confidence sequences by betting.

If numbers v_1, v_2, ... from [0, 1] have an expectation of at most m, then nobody can expect to win
by betting that they are larger: the capital

.. math:: K_n(m) = \sum_j w_j \prod_{i \le n} (1 + \gamma_j (v_i / m - 1)),
          \qquad 0 < \gamma_j < 1, \quad \sum_j w_j = 1,

is a non-negative supermartingale that starts at 1, and exceeds 1/delta at some n with probability
delta at most (Ville's inequality). All m with a capital of 1/delta or more are therefore refuted;
K_n decreases in m, so that they form an interval from 0 up to the lower confidence limit. The
stakes are a fixed mixture: the limit at n does not depend on the order of the numbers.

Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86 (2024);
Orabona and Jun, Tight concentrations and confidence sequences from the regret of universal
portfolio, IEEE Trans. Inf. Theory 70 (2024).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from certune.dual.integers import FloatArray, as_fraction, rounded_down
from certune.errors import InputError
from certune.pfaffian.bounds.arithmetic import ball, certified, probability

# Equal weights; floats without rounding. The small stakes serve large samples.
STAKES = np.array([(2 * j + 1) / 32 for j in range(16)] + [2.0**-k for k in (6, 8, 10, 12)])
# How closely sequences follow the largest limit.
RESOLUTION = 2.0**-20


def betting_lower(sample: list[Fraction], delta: Fraction) -> float:
    """Return a lower confidence limit for the mean of numbers from [0, 1].

    Parameters
    ----------
    sample : list of Fraction
        Independent numbers from [0, 1] (or with the same conditional mean given the past).
    delta : Fraction
        Probability that the limit exceeds the expectation.

    Notes
    -----
    Floats propose a limit; it is returned only if floats with an error bound, or else ball
    arithmetic, prove that its capital has reached 1/delta, otherwise it is lowered.
    """
    # Smaller numbers win less, so that rounding down is safe.
    numbers = np.array([rounded_down(x) for x in sample])
    low, high = 0.0, float(numbers.mean())
    target = -_log(delta)
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low < 1e-12:
            break
        low, high = (middle, high) if _log_capital(numbers, middle) >= target else (low, middle)
    step = 2.0**-40
    while low > 0.0 and not _proved(numbers, low, delta):
        low, step = max(low - step, 0.0), 2 * step
    return low


def betting_sequence(sample: Iterable[Any], delta: Any) -> FloatArray:
    """Return the lower confidence limits after 1, 2, ... numbers.

    With probability 1 - delta all of them hold, so that one may stop at any time; each is the
    best so far. O(n) a number, with a few vector operations where the limit does not improve.

    Parameters
    ----------
    sample : iterable of float, int or Fraction
        Numbers from [0, 1] in the order of their arrival.
    delta : float or Fraction
        Probability that some limit exceeds the expectation.

    Returns
    -------
    ndarray of float
        The limits, each proved, and less than 1e-6 below the largest that could be.

    Examples
    --------
    >>> betting_sequence([0.5, 1.0, 0.75, 0.75, 0.5, 1.0], 0.05).round(3)
    array([0.01 , 0.088, 0.171, 0.242, 0.277, 0.341])
    """
    failure = Fraction(probability("delta", delta))
    if isinstance(sample, str) or not isinstance(sample, Iterable):
        raise InputError(f"a sample must be a list of numbers from [0, 1], got {sample!r}")
    numbers = np.array([_rounded(number) for number in sample])
    limits, best = np.empty(numbers.size), 0.0
    for n in range(1, numbers.size + 1):
        best = _improved(numbers[:n], best, failure)
        limits[n - 1] = best
    return limits


def _rounded(number: Any) -> float:
    """Return a number from [0, 1] as a float, rounded down: smaller numbers win less."""
    exact = as_fraction(number)
    if exact is None or not 0 <= exact <= 1:
        raise InputError(f"all numbers must lie in [0, 1], got {number!r}: shift and scale them")
    return rounded_down(exact)


def _improved(numbers: FloatArray, best: float, delta: Fraction) -> float:
    """Return a proved limit of at least `best`, which is one already."""
    target = -_log(delta)
    high = float(numbers.mean())
    if not best + RESOLUTION < high or _log_capital(numbers, best + RESOLUTION) < target:
        return best
    low = best + RESOLUTION
    while high - low > 0.5 * RESOLUTION:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _log_capital(numbers, middle) >= target else (low, middle)
    # Half a step back leaves room for the rounding of floats, so that the proof succeeds at once.
    proposed = low - 2.0**-40
    return proposed if _proved(numbers, proposed, delta) else best


def _log_capital(numbers: FloatArray, mean: float) -> float:
    growth = (1.0 - STAKES)[:, None] + (STAKES / mean)[:, None] * numbers
    return float(np.logaddexp.reduce(np.log(growth).sum(axis=1)) - math.log(STAKES.size))


def _proved(numbers: FloatArray, mean: float, delta: Fraction) -> bool:
    """Whether the capital at `mean` is certainly at least 1 / delta: by floats, else by balls."""
    return _proved_by_floats(numbers, mean, delta) or _proved_by_balls(numbers, mean, delta)


def _proved_by_floats(numbers: FloatArray, mean: float, delta: Fraction) -> bool:
    """Bound the capital from below by products of floats.

    1 - stake is exact; a quotient, a product and a sum of positive numbers have a relative error
    of u = 2**-53 each, and so has every further product: in all less than 8 n u, for n < 2**40.
    Mantissas and exponents are kept apart, so that nothing over- or underflows.
    """
    factors = (1.0 - STAKES)[:, None] + (STAKES / mean)[:, None] * numbers
    if not (np.isfinite(factors).all() and factors.min() > 2.0**-500):
        return False
    exponents = np.zeros(STAKES.size, dtype=np.int64)
    while True:
        mantissas, powers = np.frexp(factors)
        exponents += powers.sum(axis=1)
        if factors.shape[1] == 1:
            break
        if factors.shape[1] % 2:
            mantissas = np.column_stack((mantissas, np.ones(STAKES.size)))
        factors = mantissas[:, ::2] * mantissas[:, 1::2]
    capital = sum(
        (
            Fraction(mantissa) * Fraction(2) ** power
            for mantissa, power in zip(mantissas[:, 0].tolist(), exponents.tolist(), strict=True)
        ),
        Fraction(0),
    )
    return bool(capital * (1 - Fraction(8 * len(numbers), 2**53)) * delta >= STAKES.size)


def _proved_by_balls(numbers: FloatArray, mean: float, delta: Fraction) -> bool:
    with certified():
        capital: Any = arb(0)
        for stake in STAKES.tolist():
            kept, won = 1 - arb(stake), arb(stake) / arb(mean)
            product = arb(1)
            for number in numbers.tolist():
                product *= kept + won * number
            capital += product
        return bool(capital * ball(delta) >= STAKES.size)


def _log(number: Fraction) -> float:
    """Logarithm of a positive fraction, however small."""
    return math.log(number.numerator) - math.log(number.denominator)
