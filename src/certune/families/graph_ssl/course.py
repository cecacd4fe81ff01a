"""A segment of the parameter space as exponents of the edge weights.

The weight of an edge is ``exp(-sum_k rate_k delta_k)`` with the rates ``beta_k / sigma**2``.  Along
a segment these are polynomials of a coordinate z, in which soft labels are smooth and the bounds
of `certificate` have closed forms:

* only the bandwidth moves: z = 1 / sigma**2, ``rate_k = u_k z``,
* only weights move: z = t, ``rate_k = u_k + v_k z``,
* both move: z = 1 / sigma, ``rate_k = u_k z**2 + v_k z``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.space import Segment

FloatArray = NDArray[np.float64]

# Roundings of z and t are charged with this, relatively: a few operations on doubles.
COORDINATE_ROUNDING = 16 * 2.0**-53
# A sum ``start + t * slope`` in doubles is off by this times the moduli of product and sum.
SETTING_ROUNDING = Fraction(1.01 * 2.0**-53)


@dataclass(frozen=True)
class Course:
    """Rates ``first[k] z**first_power + second[k] z**second_power`` along a segment.

    Attributes
    ----------
    first, second : tuple of Fraction
        Coefficients, one for each metric.
    first_power, second_power : int
        Powers of the coordinate.
    sigma, sigma_slope : Fraction
        The bandwidth is ``sigma + t * sigma_slope``.
    weights : tuple of pairs of Fraction
        Every weight is ``start + t * slope``.
    low, high : float
        Domain of t.
    """

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]
    first_power: int
    second_power: int
    sigma: Fraction
    sigma_slope: Fraction
    weights: tuple[tuple[Fraction, Fraction], ...]
    low: float
    high: float

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Coordinates of an interval that covers the segment, increasing."""
        ends = sorted(self._coordinate(t) for t in (self.low, self.high))
        if self.sigma_slope == 0:
            return ends[0], ends[1]
        return ends[0] * (1 - COORDINATE_ROUNDING), ends[1] * (1 + COORDINATE_ROUNDING)

    @property
    def reverses(self) -> bool:
        """Whether z decreases with t."""
        return self.sigma_slope > 0

    def _coordinate(self, t: float) -> float:
        if self.sigma_slope == 0:
            return t
        sigma = self.sigma + Fraction(t) * self.sigma_slope
        return float(1 / sigma**2) if self.first_power == 1 else float(1 / sigma)

    def position(self, z: float) -> float:
        """The t of a coordinate, up to `position_error`."""
        if self.sigma_slope == 0:
            return z
        sigma = 1 / math.sqrt(z) if self.first_power == 1 else 1 / z
        return float((Fraction(sigma) - self.sigma) / self.sigma_slope)

    def position_error(self, z: float) -> float:
        """Bound of the rounding in `position`, for a coordinate that is a rounded one itself."""
        if self.sigma_slope == 0:
            return COORDINATE_ROUNDING * max(abs(self.low), abs(self.high))
        sigma = 1 / math.sqrt(z) if self.first_power == 1 else 1 / z
        return COORDINATE_ROUNDING * float(sigma / abs(self.sigma_slope)) + COORDINATE_ROUNDING * (
            abs(self.position(z))
        )

    def rate_rounding(self, low: float, high: float) -> FloatArray:
        """For each rate how much it changes, on [low, high], when a setting is rounded to doubles.

        Zero if no weight moves: a rounded bandwidth is another point of the line, for which
        `position_error` has room. Weights are rounded each in its own way.
        """
        if all(slope == 0 for _, slope in self.weights):
            return np.zeros(len(self.weights))
        ends = [Fraction(self.position(z)) for z in (low, high)]
        farthest = max(abs(t) for t in ends)
        sigmas = [self.sigma + t * self.sigma_slope for t in ends]
        sigma_moves = abs(self.sigma_slope) * farthest
        off = (sigma_moves + max(sigmas)) / min(sigmas) if sigma_moves else Fraction(0)
        result = []
        for start, slope in self.weights:
            size = max(abs(start + t * slope) for t in ends)
            change = abs(slope) * farthest + size + 2 * size * off
            result.append(float(SETTING_ROUNDING * change / min(sigmas) ** 2))
        return np.array(result)

    def rates(self, z: Fraction) -> list[Fraction]:
        """Rates at a coordinate, exactly."""
        a, b = z**self.first_power, z**self.second_power
        return [u * a + v * b for u, v in zip(self.first, self.second, strict=True)]


def line_of(
    segment: Segment, sigma: Any, weights: tuple[float, ...]
) -> tuple[tuple[float, float], list[tuple[float, float]]]:
    """Start and slope of sigma and of every weight; those not on the segment are fixed."""
    start: Any = segment.origin.get("sigma", sigma)
    slope: Any = segment.direction.get("sigma", 0.0)
    starts: Any = segment.origin.get("weights", weights)
    slopes: Any = segment.direction.get("weights", (0.0,) * len(weights))
    return (start, slope), list(zip(starts, slopes, strict=True))


def make_course(
    sigma: tuple[float, float],
    weights: list[tuple[float, float]],
    low: float,
    high: float,
) -> Course:
    """Course along which sigma and every weight are ``start + t * slope``, not all slopes 0."""
    start, slope = (Fraction(value) for value in sigma)
    betas = [(Fraction(a), Fraction(b)) for a, b in weights]
    zeros = (Fraction(0),) * len(betas)
    if slope == 0:
        first = tuple(a / start**2 for a, _ in betas)
        second = tuple(b / start**2 for _, b in betas)
        powers = (0, 1)
    elif all(b == 0 for _, b in betas):
        first, second, powers = tuple(a for a, _ in betas), zeros, (1, 0)
    else:
        first = tuple(a - b * start / slope for a, b in betas)
        second = tuple(b / slope for _, b in betas)
        powers = (2, 1)
    return Course(first, second, *powers, start, slope, tuple(betas), float(low), float(high))


def doubled(values: list[Fraction]) -> tuple[FloatArray, FloatArray]:
    """Numbers as unevaluated sums of two doubles, within 2**-106 relatively."""
    high = [float(value) for value in values]
    low = [float(value - Fraction(top)) for value, top in zip(values, high, strict=True)]
    return np.array(high), np.array(low)
