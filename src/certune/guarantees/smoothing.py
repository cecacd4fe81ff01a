"""The smoothed optimum: the best average over a window of settings.

The average of a step function over a window is piecewise linear in the centre of the window, with
kinks where an end of the window meets an end of a piece, so that its maximum is found among the
kinks. Places become integers over one denominator, which makes every comparison exact.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from itertools import accumulate
from typing import Any

from flint import arb

from certune.dual import DualFunction, PiecewiseFunction
from certune.dual.integers import as_fraction, over_common_denominator
from certune.dual.scales import checked_scale
from certune.errors import ParameterError
from certune.guarantees.selection import Selection
from certune.guarantees.surrogates import step_surrogate
from certune.pfaffian.bounds.arithmetic import ball, certified, upper_float

# Resolution at which smooth functions are averaged, as a share of their range.
SMOOTH_SHARE = Fraction(1, 2**11)


def smoothed_optimum(landscape: DualFunction, width: Any, scale: str = "linear") -> Selection:
    """Choose the maximum of the average over a window, the window inside the domain.

    Gaps count by their lower bounds in the search; the result has both bounds. On a logarithmic
    scale the logarithms are rounded, and a smooth function is searched through a step function
    close to it, so that the centre is best up to that error; the bounds of the average include it.

    O(B log B) for B breakpoints.

    Parameters
    ----------
    landscape : PiecewiseFunction or PiecewisePolynomial
        Mean utility.
    width : float, int or Fraction
        Width of the window, positive and at most that of the domain; on a logarithmic scale, the
        logarithm of the ratio of its ends.
    scale : {"linear", "log"}, default="linear"
        How settings are averaged.
    """
    checked_scale(scale, landscape.low)
    span = as_fraction(width)
    low, high = (_place(end, scale) for end in (landscape.low, landscape.high))
    if span is None or not 0 < span <= Fraction(high) - Fraction(low):
        raise ParameterError(
            f"width must be positive and at most that of the domain, {high - low!r}"
            f"{' in logarithms' if scale == 'log' else ''}, got {width!r}"
        )
    steps, error = step_surrogate(landscape, _resolution(landscape))
    middle = _best_centre(steps, span, scale)
    if scale == "log":
        centre = min(max(math.exp(float(middle)), landscape.low), landscape.high)
        half = float(span / 2)
        ends = (
            Fraction(max(centre * math.exp(-half), landscape.low)),
            Fraction(min(centre * math.exp(half), landscape.high)),
        )
    else:
        centre = min(max(float(middle), landscape.low), landscape.high)
        # Rounding may push the window over an end by less than one unit of rounding.
        first, last = Fraction(low) + span / 2, Fraction(high) - span / 2
        middle = min(max(Fraction(centre), first), last)
        ends = (middle - span / 2, middle + span / 2)
    return Selection(
        "smoothed",
        centre,
        (float(ends[0]), float(ends[1])),
        landscape.enclose_exact(centre)[0],
        Fraction(0),
        (
            _average(steps, "gap_lower", ends, scale) - error,
            _average(steps, "gap_upper", ends, scale) + error,
        ),
    )


def _place(t: float, scale: str) -> float:
    return math.log(t) if scale == "log" else t


def _resolution(landscape: DualFunction) -> Fraction:
    spread = landscape.upper_bound_exact + (-landscape).upper_bound_exact
    return max(spread, Fraction(1, 2**40)) * SMOOTH_SHARE


def _heights(function: PiecewiseFunction, bound: str) -> list[int]:
    """Values of pieces and, between them, bounds in gaps, times the denominator."""
    values = function.numerators.tolist()
    gaps = getattr(function, bound).tolist()
    merged = [value for pair in zip(values, gaps, strict=False) for value in pair]
    return [*merged, values[-1]]


def _ends(function: PiecewiseFunction) -> list[float]:
    pairs = zip(function.starts.tolist(), function.stops.tolist(), strict=True)
    return [end for piece in pairs for end in piece]


def _best_centre(function: PiecewiseFunction, span: Fraction, scale: str) -> Fraction:
    """Return the middle of the first run of kinks with the largest average."""
    places = [_place(end, scale) for end in _ends(function)]
    tops, denominator = over_common_denominator(places, "breakpoints")
    # Integers over unit: places, and half of the window.
    unit = 2 * span.denominator * denominator
    ends = [2 * span.denominator * top for top in tops]
    half = span.numerator * denominator
    heights = _heights(function, "gap_lower")
    steps = zip(heights, ends[:-1], ends[1:], strict=True)
    areas = [*accumulate((h * (right - left) for h, left, right in steps), initial=0)]

    def until(t: int) -> int:
        index = min(bisect_right(ends, t), len(heights)) - 1
        return areas[index] + heights[index] * (t - ends[index])

    first, last = ends[0] + half, ends[-1] - half
    centres = {first, last, *(end - half for end in ends), *(end + half for end in ends)}
    kinks = sorted(centre for centre in centres if first <= centre <= last)
    found = [until(centre + half) - until(centre - half) for centre in kinks]
    best = max(found)
    start = found.index(best)
    stop = start
    while stop + 1 < len(kinks) and found[stop + 1] == best:
        stop += 1
    return Fraction(kinks[start] + kinks[stop], 2 * unit)


def _average(
    function: PiecewiseFunction, bound: str, window: tuple[Fraction, Fraction], scale: str
) -> Fraction:
    """Average over a window: exact on a linear scale, else rounded to the side of the bound."""
    low, high = window
    ends = _ends(function)
    parts = [
        (height, max(Fraction(left), low), min(Fraction(right), high))
        for height, left, right in zip(_heights(function, bound), ends[:-1], ends[1:], strict=True)
        if left < high and right > low
    ]
    if scale == "linear":
        total = sum((height * (right - left) for height, left, right in parts), Fraction(0))
        return total / (function.denominator * (high - low))
    if low == high:
        # A window narrower than the floats around it.
        return function.enclose_exact(float(low))[bound == "gap_upper"]
    with certified():
        area = sum((height * ball(right / left).log() for height, left, right in parts), arb(0))
        average = area / (function.denominator * ball(high / low).log())
        upper = bound == "gap_upper"
        return Fraction(upper_float(average)) if upper else -Fraction(upper_float(-average))
