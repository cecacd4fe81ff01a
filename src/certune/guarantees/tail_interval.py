"""Confidence intervals for a quantile or a tail mean of independent bounded numbers.

By the inequality of Dvoretzky, Kiefer and Wolfowitz with the constant of Massart (1990), the
distribution function of n independent numbers is nowhere further than e = sqrt(ln(2 / delta) / 2n)
from its expectation, with probability at least 1 - delta. The worst distribution that is so close
has a mass of e at the smallest possible number, taken from the largest ones of the sample, and the
best one the opposite. Aggregates are non-decreasing in every number, so that those of the two
distributions enclose the one of the truth.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from certune.aggregates import Aggregate
from certune.dual.integers import rounded_down, rounded_up
from certune.errors import InputError
from certune.guarantees.bounded_mean import Interval, exact_range
from certune.pfaffian.bounds.arithmetic import ball, certified, probability, upper_float


def tail_interval(
    sample: Iterable[Any],
    aggregate: Aggregate,
    delta: float | Fraction = 0.05,
    utility_range: tuple[Any, Any] = (0, 1),
) -> Interval:
    """Return a confidence interval for an aggregate of a distribution.

    Parameters
    ----------
    sample : iterable of float, int or Fraction
        Independent with one distribution, all in `utility_range`.
    aggregate : Aggregate
        What of the distribution the interval is about. No sample bounds the worst possible number
        from below: for the minimum the interval begins at the end of the range.
    delta : float, default=0.05
        Probability that the interval misses it.
    utility_range : tuple, default=(0, 1)
        Smallest and largest possible number.

    Examples
    --------
    >>> from certune.aggregates import Quantile
    >>> interval = tail_interval([0.1 * k for k in range(10)] * 40, Quantile(0.5))
    >>> interval.low, interval.high
    (0.4, 0.5)
    """
    values = sorted(Fraction(value) for value in sample)
    if not values:
        raise InputError("an interval needs at least one number")
    failure = Fraction(probability("delta", delta))
    low, high = exact_range(utility_range)
    with certified():
        reach = Fraction(upper_float(((2 / ball(failure)).log() / (2 * len(values))).sqrt()))
    below = _shifted(values[::-1], low, reach, aggregate)
    above = _shifted(values, high, reach, aggregate)
    return Interval(
        rounded_down(below), rounded_up(above), float(delta), "Dvoretzky-Kiefer-Wolfowitz"
    )


def _shifted(
    values: list[Fraction], end: Fraction, reach: Fraction, aggregate: Aggregate
) -> Fraction:
    """Return the aggregate after a mass was moved from the first numbers to the end."""
    if reach >= 1:
        return end
    share, left = Fraction(1, len(values)), reach
    masses = [(end, reach)]
    for value in values:
        gone = min(left, share)
        left -= gone
        if share > gone:
            masses.append((value, share - gone))
    return aggregate.value(*zip(*masses, strict=True))
