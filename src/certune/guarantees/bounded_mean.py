"""The mean of independent numbers from a known range: confidence limits from a sample.

The utility of a *fixed* setting on held-out instances is such a sample, however the setting was
found. Three limits, each for one side and with all constants: Hoeffding's needs the range alone,
the empirical Bernstein bound profits from a small variance, and betting
(:mod:`certune.guarantees.betting`) is nearly always the tightest. Decimals are rounded to the safe
side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from certune.dual.integers import as_fraction
from certune.errors import InputError, ParameterError
from certune.guarantees.betting import betting_lower
from certune.pfaffian.bounds.arithmetic import ball, certified, probability, upper_float
from certune.scores import Score


@dataclass(frozen=True)
class Method:
    """A lower confidence limit for the mean of numbers from [0, 1].

    Attributes
    ----------
    lower : callable
        Maps a list of Fractions from [0, 1] and the probability of failure to a limit.
    name, label, formula, note : str
        What tables show; `formula` is what the limit lies below the mean of the sample.
    """

    lower: Callable[[list[Fraction], Fraction], float]
    name: str
    label: str
    formula: str
    note: str


def hoeffding_lower(sample: list[Fraction], delta: Fraction) -> float:
    """Lower limit by Hoeffding's inequality."""
    n = len(sample)
    with certified():
        return -upper_float(((1 / ball(delta)).log() / (2 * n)).sqrt() - ball(_mean(sample)))


def bernstein_lower(sample: list[Fraction], delta: Fraction) -> float:
    """Lower limit by the empirical Bernstein inequality of Maurer and Pontil (2009)."""
    n = len(sample)
    if n < 2:
        return 0.0
    mean = _mean(sample)
    variance = sum(((x - mean) ** 2 for x in sample), Fraction(0)) / (n - 1)
    with certified():
        logarithm = (2 / ball(delta)).log()
        below = (2 * ball(variance) * logarithm / n).sqrt() + 7 * logarithm / (3 * arb(n - 1))
        return -upper_float(below - ball(mean))


METHODS = {
    "hoeffding": Method(
        hoeffding_lower,
        "held-out Hoeffding",
        "Hoeffding 1963",
        r"H \sqrt{\ln(1/\delta) / (2n)}",
        "range of the utility only",
    ),
    "empirical-bernstein": Method(
        bernstein_lower,
        "held-out empirical Bernstein",
        "Maurer and Pontil 2009",
        r"\sqrt{2 V \ln(2/\delta) / n} + 7 H \ln(2/\delta) / (3 (n - 1))",
        "sample variance V",
    ),
    "betting": Method(
        betting_lower,
        "held-out betting",
        "Waudby-Smith and Ramdas 2024",
        r"\bar v - \min\{m : \sum_j w_j \prod_i (1 + \gamma_j (v_i / m - 1)) < 1/\delta\}",
        "valid at any stopping time; utilities shifted to start at 0",
    ),
}


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval.

    Attributes
    ----------
    low, high : float
        The interval, rounded outward.
    delta : float
        It misses the expectation with at most this probability.
    method : str
        How it was computed.
    """

    low: float
    high: float
    delta: float
    method: str

    def of_score(self, score: Score, is_difference: bool = False) -> Interval:
        """Return the interval of a score instead of the utility.

        Parameters
        ----------
        score : Score
            The score.
        is_difference : bool
            Whether this is about a difference of two utilities.
        """
        scale = replace(score, at_zero=0.0) if is_difference else score
        low, high = sorted((scale.of(self.low), scale.of(self.high)))
        return replace(self, low=low, high=high)

    def __str__(self) -> str:
        return f"[{self.low:.4g}, {self.high:.4g}] ({100 * (1 - self.delta):.4g}% confidence)"


def mean_interval(
    sample: Iterable[Any],
    delta: float | Fraction = 0.05,
    utility_range: tuple[Any, Any] = (0, 1),
    method: str = "betting",
) -> Interval:
    """Return a confidence interval for the expectation of independent bounded numbers.

    Parameters
    ----------
    sample : iterable of float, int or Fraction
        Independent with one distribution, all in `utility_range`.
    delta : float, default=0.05
        Probability that the interval misses the expectation, half of it on each side.
    utility_range : tuple, default=(0, 1)
        Smallest and largest possible number.
    method : {"betting", "hoeffding", "empirical-bernstein"}
        Which inequality to use.

    Examples
    --------
    >>> interval = mean_interval([0.75, 0.5, 1, 0.75, 0.875] * 8)
    >>> 0.65 < interval.low < 0.775 < interval.high < 0.86
    True
    """
    if method not in METHODS:
        raise ParameterError(f"method must be one of {list(METHODS)}, got {method!r}")
    share = Fraction(probability("delta", delta)) / 2
    low, high = exact_range(utility_range)
    unit = to_unit(sample, low, high)
    lower = METHODS[method].lower(unit, share)
    upper = METHODS[method].lower([1 - x for x in unit], share)
    with certified():
        # Adding zero turns -0.0 into 0.0.
        start = 0.0 - upper_float(-(ball(low) + ball(high - low) * max(lower, 0.0)))
        stop = upper_float(ball(high) - ball(high - low) * max(upper, 0.0)) + 0.0
    return Interval(start, stop, float(delta), method)


def exact_range(utility_range: tuple[Any, Any]) -> tuple[Fraction, Fraction]:
    """Return the ends of a range of utilities, low < high."""
    pair = utility_range if isinstance(utility_range, (tuple, list, np.ndarray)) else ()
    ends = [as_fraction(end) for end in pair]
    if len(ends) != 2 or ends[0] is None or ends[1] is None or not ends[0] < ends[1]:
        raise ParameterError(
            f"utility_range must be (low, high), low < high, got {utility_range!r}"
        )
    return ends[0], ends[1]


def to_unit(sample: Iterable[Any], low: Fraction, high: Fraction) -> list[Fraction]:
    """Map numbers from [low, high] to [0, 1], exactly; at least one number."""
    if isinstance(sample, str) or not isinstance(sample, Iterable):
        raise InputError(f"a sample must be a list of numbers, got {sample!r}")
    listed = list(sample)
    numbers = [as_fraction(number) for number in listed]
    if not numbers:
        raise InputError("a confidence interval needs at least one number, got none")
    for given, number in zip(listed, numbers, strict=True):
        if number is None or not low <= number <= high:
            raise InputError(
                f"all numbers must lie in the range [{low}, {high}], got {given!r}; pass the "
                "utility_range that holds for every instance"
            )
    return [(number - low) / (high - low) for number in numbers if number is not None]


def _mean(sample: list[Fraction]) -> Fraction:
    return sum(sample, Fraction(0)) / len(sample)
