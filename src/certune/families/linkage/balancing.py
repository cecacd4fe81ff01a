"""Weight lines between metrics of very different sizes, in a coordinate that shows both ends.

Along ``(1 - t) near + t far`` with distances ``near`` of size 1 and ``far`` of size 1e20 everything
happens at t of about 1e-20, and if the sizes are exchanged that close to 1, where the sum loses all
its digits.  Only the ratio of the weights counts, so such a line can be followed in another
coordinate, in which both ends have the same size; if alpha moves as well, at least backwards, from
the end at which distances are small.  The pieces are carried back to t, rounded inwards.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from certune.dual import PiecewiseFunction
from certune.families.linkage.combining import exponent_range
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.lines import Line, Number, ordinary, sum_at

# Lines whose ends differ in size by less than this many bits are followed as they are.
FEW_BITS = 10


@dataclass(frozen=True)
class OtherCoordinate(ABC):
    """A line with a coordinate s in [0, length].

    Attributes
    ----------
    line : Line
        Parameters as functions of s, weights up to a positive factor.
    low, high : Fraction
        The ends of the coordinate t.
    """

    line: Line
    low: Fraction
    high: Fraction

    @property
    @abstractmethod
    def length(self) -> float:
        """The largest s."""

    @abstractmethod
    def place(self, s: float | Fraction) -> Fraction:
        """The t of a coordinate, which it determines."""

    def at(self, s: float | Fraction) -> Line:
        """The constant parameters at a coordinate."""
        return self.line.at(Fraction(s))

    def carried_back(self, function: PiecewiseFunction, name: str) -> PiecewiseFunction:
        """A function of s as one of t; what holds no float any more becomes part of a gap."""
        own = list(zip(function.starts, function.stops, function.numerators, strict=True))
        own_gaps = list(zip(function.gap_lower, function.gap_upper, strict=True))
        if self.place(0.0) > self.place(self.length):
            own, own_gaps = own[::-1], own_gaps[::-1]
        pieces: list[tuple[float, float, int]] = []
        gaps: list[tuple[int, int]] = []
        passed: list[int] = []  # values and bounds since the last piece
        for number, (start, stop, value) in enumerate(own):
            first, last = _inside(*sorted((self.place(start), self.place(stop))))
            if first <= last:
                if pieces:
                    gaps.append((min(passed), max(passed)))
                pieces.append((first, last, int(value)))
                passed = []
            else:
                passed.append(int(value))
            if number < len(own_gaps):
                passed.extend(map(int, own_gaps[number]))
        starts, stops, values = zip(*pieces, strict=True)
        lower, upper = zip(*gaps, strict=True) if gaps else ((), ())
        return PiecewiseFunction(starts, stops, values, lower, upper, function.denominator, name)


@dataclass(frozen=True)
class Balanced(OtherCoordinate):
    """Both ends scaled to one size.

        (t - low) : (high - t) = s : ratio (1 - s)

    Attributes
    ----------
    ratio : Fraction
        Size of the distances at s = 1 over that at s = 0.
    """

    ratio: Fraction

    @property
    def length(self) -> float:
        """The largest s."""
        return 1.0

    def place(self, s: float | Fraction) -> Fraction:
        """The t of a coordinate, which it determines."""
        share = Fraction(s)
        return self.low + (self.high - self.low) * share / (share + self.ratio * (1 - share))


@dataclass(frozen=True)
class Backwards(OtherCoordinate):
    """s = high - t."""

    @property
    def length(self) -> float:
        """The largest s."""
        return float(self.high - self.low)

    def place(self, s: float | Fraction) -> Fraction:
        """The t of a coordinate, which it determines."""
        return self.high - Fraction(s)


def other_coordinate(
    instance: ClusteringInstance, line: Line, low: float, high: float
) -> OtherCoordinate | None:
    """A coordinate in which the distances along a line lose no digits; None if t will do."""
    if line.product or not any(slope for _, slope in line.weights):
        return None
    ends = Fraction(low), Fraction(high)
    weights = [line.weights_at(t) for t in ends]
    sizes = [exponent_range(instance, own)[1] for own in weights]
    if abs(sizes[1] - sizes[0]) < FEW_BITS:
        return None
    if all(slope == 0.0 for _, slope in line.alpha):
        scaled = [
            [weight / Fraction(2) ** size for weight in own]
            for own, size in zip(weights, sizes, strict=True)
        ]
        moving = _moving(scaled[0], [b - a for a, b in zip(*scaled, strict=True)])
        ratio = Fraction(2) ** (sizes[1] - sizes[0])
        return Balanced(Line(line.kind, line.alpha, moving), *ends, ratio)
    length = ends[1] - ends[0]
    if sizes[0] < sizes[1] or Fraction(float(length)) != length:
        return None
    alpha = [sum_at(own, ends[1]) for own in line.exact_alpha]
    if any(Fraction(float(value)) != value for value in alpha):
        return None
    moving = _moving(weights[1], [-Fraction(slope) for _, slope in line.weights])
    exponents = tuple(
        (float(value), -slope) for value, (_, slope) in zip(alpha, line.alpha, strict=True)
    )
    return Backwards(Line(line.kind, exponents, moving), *ends)


def _moving(
    values: tuple[Fraction, ...] | list[Fraction], slopes: list[Fraction]
) -> tuple[tuple[Number, Number], ...]:
    return tuple((ordinary(a), ordinary(b)) for a, b in zip(values, slopes, strict=True))


def _inside(low: Fraction, high: Fraction) -> tuple[float, float]:
    """The first and the last float of an interval; none if the first one is the larger."""
    first, last = float(low), float(high)
    if Fraction(first) < low:
        first = math.nextafter(first, math.inf)
    if Fraction(last) > high:
        last = math.nextafter(last, -math.inf)
    return first, last
