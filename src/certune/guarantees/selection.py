"""Which setting to take: rules beside the plain optimum.

With few instances the exact optimum may be a narrow peak of chance. Each rule here gives up a
little on the tuning instances for a setting that is likelier to stay good, and each is evaluated
exactly on the piecewise function: level sets in rational arithmetic, moving averages at all their
kinks.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from certune.dual import PiecewiseFunction
from certune.dual.integers import as_fraction
from certune.errors import ParameterError


@dataclass(frozen=True)
class Selection:
    """A setting chosen by a rule.

    Attributes
    ----------
    rule : str
        Which rule.
    coordinate : float
        Coordinate t of the setting.
    interval : tuple of float
        The interval around it that the rule found, or the window of a moving average.
    value_exact : Fraction
        Mean utility at the setting; a lower bound where it is not decided.
    tolerance : Fraction
        How much worse than the optimum the rule allows a setting to be, 0 for moving averages.
    smoothed : tuple of Fraction, optional
        Bounds of the moving average at the setting.
    params : dict, optional
        Parameters of the setting by name.
    """

    rule: str
    coordinate: float
    interval: tuple[float, float]
    value_exact: Fraction
    tolerance: Fraction
    smoothed: tuple[Fraction, Fraction] | None = None
    params: dict[str, Any] | None = None

    @property
    def value(self) -> float:
        """Mean utility at the setting."""
        return float(self.value_exact)


def widest_plateau(
    landscape: PiecewiseFunction, epsilon: Any = 0, rule: str = "plateau"
) -> Selection:
    """Choose the centre of the widest interval within epsilon of the optimum.

    Parameters
    ----------
    landscape : PiecewiseFunction
        Mean utility.
    epsilon : float, int or Fraction, default=0
        Tolerance, taken exactly.
    rule : str, default="plateau"
        Name in the result.
    """
    low, high = landscape.widest_plateau(epsilon)
    centre = min(max(0.5 * low + 0.5 * high, low), high)
    value = landscape.enclose_exact(centre)[0]
    return Selection(rule, centre, (low, high), value, as_fraction(epsilon) or Fraction(0))


def one_standard_error(
    landscape: PiecewiseFunction, duals: Sequence[PiecewiseFunction]
) -> Selection:
    """Choose the widest interval within one standard error of the optimum.

    The standard error is that of the mean utility at the optimum. It is irrational in general;
    values are compared with it by their squares, so that no rounding enters.

    Parameters
    ----------
    landscape : PiecewiseFunction
        Mean of the utility functions.
    duals : sequence of PiecewiseFunction
        At least two utility functions.
    """
    centre = widest_plateau(landscape).coordinate
    utilities = [dual.enclose_exact(centre)[0] for dual in duals]
    # Values are multiples of 1 / denominator.
    tolerance = standard_error(utilities, landscape.denominator)
    return widest_plateau(landscape, tolerance, "one-standard-error")


def standard_error(utilities: Sequence[Fraction], denominator: int) -> Fraction:
    """Return the largest multiple of 1 / denominator up to the standard error of the mean.

    Parameters
    ----------
    utilities : sequence of Fraction
        Utilities of at least two instances.
    denominator : int
        What the result is rounded down to.
    """
    n = len(utilities)
    if n < 2:
        raise ParameterError(f"a standard error needs at least 2 instances, got {n}")
    mean = sum(utilities, Fraction(0)) / n
    square = sum(((u - mean) ** 2 for u in utilities), Fraction(0)) / (n * (n - 1))
    return Fraction(math.isqrt(math.floor(square * denominator**2)), denominator)


def smoothed_optimum(landscape: PiecewiseFunction, width: Any) -> Selection:
    """Choose the maximum of the average over a window, the window inside the domain.

    The average is piecewise linear in the centre of the window, with kinks where an end of the
    window meets an end of a piece, so that its maximum is found exactly among the kinks. Gaps
    count by their lower bounds in the search; the result has both bounds.

    Parameters
    ----------
    landscape : PiecewiseFunction
        Mean utility.
    width : float, int or Fraction
        Width of the window, positive and at most that of the domain.
    """
    span = as_fraction(width)
    whole = Fraction(landscape.high) - Fraction(landscape.low)
    if span is None or not 0 < span <= whole:
        raise ParameterError(
            f"width must be positive and at most that of the domain, {float(whole)!r}, got "
            f"{width!r}"
        )
    lower, upper = (_Integral(landscape, which) for which in ("gap_lower", "gap_upper"))
    half = span / 2
    first, last = Fraction(landscape.low) + half, Fraction(landscape.high) - half
    centres = {first, last}
    centres.update(end + side for end in lower.ends for side in (-half, half))
    kinks = sorted(centre for centre in centres if first <= centre <= last)
    areas = [lower.between(centre - half, centre + half) for centre in kinks]
    best = max(areas)
    start = areas.index(best)
    stop = start
    while stop + 1 < len(kinks) and areas[stop + 1] == best:
        stop += 1
    centre = float((kinks[start] + kinks[stop]) / 2)
    # Rounding may push the window over an end of the domain by less than one unit of rounding.
    middle = min(max(Fraction(centre), first), last)
    ends = (middle - half, middle + half)
    return Selection(
        "smoothed",
        min(max(centre, landscape.low), landscape.high),
        (float(ends[0]), float(ends[1])),
        landscape.enclose_exact(min(max(centre, landscape.low), landscape.high))[0],
        Fraction(0),
        (lower.between(*ends) / span, upper.between(*ends) / span),
    )


class _Integral:
    """Integral of a piecewise constant function from the left end, in rational arithmetic."""

    def __init__(self, function: PiecewiseFunction, bound: str) -> None:
        ends = [end for piece in zip(function.starts, function.stops, strict=True) for end in piece]
        self.ends = [Fraction(float(end)) for end in ends]
        values = [int(value) for value in function.numerators]
        gaps = [int(value) for value in getattr(function, bound)]
        merged = [value for pair in zip(values, gaps, strict=False) for value in pair]
        heights = [*merged, values[-1]]
        self._heights = [Fraction(height, function.denominator) for height in heights]
        steps = (
            height * (right - left)
            for height, left, right in zip(
                self._heights, self.ends[:-1], self.ends[1:], strict=True
            )
        )
        self._areas = [*accumulate(steps, initial=Fraction(0))]

    def _until(self, t: Fraction) -> Fraction:
        index = min(bisect_right(self.ends, t), len(self._heights)) - 1
        return self._areas[index] + self._heights[index] * (t - self.ends[index])

    def between(self, start: Fraction, stop: Fraction) -> Fraction:
        return self._until(stop) - self._until(start)
