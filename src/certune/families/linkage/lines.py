"""Linkage parameters along a segment, as exact affine functions, and places on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

Number = float | Fraction

Vector = tuple[float, ...]
"""Distances of one pair of points, one for each metric."""


@dataclass(frozen=True)
class Line:
    """Linkage parameters as affine functions of t: (value at 0, slope) of each.

    ``alpha`` is one pair (possibly with an infinite value) and ``weights`` one pair per metric for
    min-max and power-mean linkage; ``alpha`` is one pair per metric for product linkage.
    """

    kind: str
    alpha: tuple[tuple[Number, float], ...]
    weights: tuple[tuple[Number, Number], ...]

    @property
    def product(self) -> bool:
        """Is this product linkage?"""
        return self.kind == "product"

    @property
    def moves(self) -> bool:
        """Does any parameter depend on t?"""
        return any(slope != 0.0 for _, slope in (*self.alpha, *self.weights))

    @property
    def infinite(self) -> bool:
        """Is alpha infinite (single or complete linkage)?"""
        return any(math.isinf(value) for value, _ in self.alpha)

    @cached_property
    def exact_alpha(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The exponents, which must be finite, as rational numbers."""
        return tuple((Fraction(value), Fraction(slope)) for value, slope in self.alpha)

    def exponents(self, t: Fraction) -> tuple[Fraction, ...]:
        """The exponents at t, which must be finite."""
        return tuple(value + t * slope for value, slope in self.exact_alpha)

    @cached_property
    def _exact_weights(self) -> tuple[tuple[Fraction, Fraction], ...]:
        return tuple((Fraction(value), Fraction(slope)) for value, slope in self.weights)

    def weights_at(self, t: Fraction) -> tuple[Fraction, ...]:
        """The weights of the metrics at t."""
        return tuple(value + t * slope for value, slope in self._exact_weights)

    def distance(self, vector: Vector) -> tuple[Fraction, Fraction]:
        """The combined distance of a pair of points: (value at 0, slope)."""
        start = slope = Fraction(0)
        for delta, (value, rate) in zip(map(Fraction, vector), self._exact_weights, strict=True):
            start += value * delta
            slope += rate * delta
        return start, slope

    def at(self, t: Fraction) -> Line:
        """The constant parameters at t."""
        alpha = self.alpha
        if any(slope != 0 for _, slope in alpha):
            alpha = tuple((ordinary(sum_at(own, t)), 0.0) for own in self.exact_alpha)
        weights = tuple((ordinary(weight), 0.0) for weight in self.weights_at(t))
        return Line(self.kind, alpha, weights)

    @cached_property
    def total(self) -> tuple[Fraction, Fraction]:
        """The sum of all exponents: (value at 0, slope)."""
        values, slopes = zip(*self.exact_alpha, strict=True)
        return sum(values, Fraction(0)), sum(slopes, Fraction(0))

    @cached_property
    def exponent_balls(self) -> dict[Vector, tuple[Any, Any]]:
        """Exponents of products of powers, (value at 0, slope), that the exact layer found."""
        return {}

    @cached_property
    def scale(self) -> float:
        """A power of 2, at most 1, near the largest slope of the exponents if that is small."""
        largest = max(abs(slope) for _, slope in self.alpha)
        return math.ldexp(1.0, min(0, math.frexp(largest)[1]))

    @cached_property
    def origin(self) -> Fraction | None:
        """The t at which all exponents of a product vanish together, if there is one."""
        moving = [(value, slope) for value, slope in self.exact_alpha if slope != 0]
        if not moving or any(value != 0 for value, slope in self.exact_alpha if slope == 0):
            return None
        roots = {-value / slope for value, slope in moving}
        return roots.pop() if len(roots) == 1 else None


def sum_at(function: tuple[Fraction, Fraction], t: Fraction) -> Fraction:
    """Value at t of an affine function (value at 0, slope)."""
    return function[0] + t * function[1]


def floats_around(place: Fraction) -> tuple[float, float]:
    """The neighbouring floats between which a number lies that is none itself."""
    near = float(place)
    before = near if Fraction(near) < place else math.nextafter(near, -math.inf)
    return before, math.nextafter(before, math.inf)


def simplified(place: Fraction) -> float | Fraction:
    """The float that is equal to a number, if there is one."""
    near = float(place)
    return near if Fraction(near) == place else place


def ordinary(value: Fraction) -> Number:
    """The same number as a float, if it is an ordinary one."""
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    return simplified(value) if abs(exponent) < 900 else value


def sign_of(value: Fraction) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)
