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
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from certune.dual.integers import FloatArray, rounded_down
from certune.pfaffian.bounds.arithmetic import ball, certified

# Equal weights; floats without rounding. The small stakes serve large samples.
STAKES = np.array([(2 * j + 1) / 32 for j in range(16)] + [2.0**-k for k in (6, 8, 10, 12)])


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
    Floats propose a limit; it is returned only if ball arithmetic proves that its capital has
    reached 1/delta, otherwise it is lowered.
    """
    # Smaller numbers win less, so that rounding down is safe.
    numbers = np.array([rounded_down(x) for x in sample])
    low, high = 0.0, float(numbers.mean())
    target = math.log(1 / delta)
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low < 1e-12:
            break
        low, high = (middle, high) if _log_capital(numbers, middle) >= target else (low, middle)
    step = 2.0**-40
    while low > 0.0 and not _proved(numbers.tolist(), low, delta):
        low, step = max(low - step, 0.0), 2 * step
    return low


def betting_sequence(sample: Sequence[Fraction], delta: Fraction) -> FloatArray:
    """Return the lower confidence limits after 1, 2, ... numbers.

    With probability 1 - delta all of them hold, so that one may stop at any time; each is the
    best so far.

    Parameters
    ----------
    sample : sequence of Fraction
        Numbers from [0, 1] in the order of their arrival.
    delta : Fraction
        Probability that some limit exceeds the expectation.
    """
    limits = [betting_lower(list(sample[:n]), delta) for n in range(1, len(sample) + 1)]
    return np.maximum.accumulate(np.array(limits))


def _log_capital(numbers: FloatArray, mean: float) -> float:
    growth = (1.0 - STAKES)[:, None] + (STAKES / mean)[:, None] * numbers
    return float(np.logaddexp.reduce(np.log(growth).sum(axis=1)) - math.log(STAKES.size))


def _proved(numbers: list[float], mean: float, delta: Fraction) -> bool:
    """Whether the capital at `mean` is certainly at least 1 / delta."""
    with certified():
        capital: Any = arb(0)
        for stake in STAKES.tolist():
            kept, won = 1 - arb(stake), arb(stake) / arb(mean)
            product = arb(1)
            for number in numbers:
                product *= kept + won * number
            capital += product
        return bool(capital * ball(delta) >= STAKES.size)
