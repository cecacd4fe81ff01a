"""Places where many changes of order nearly coincide, looked at closely.

Distances that are rounded square roots of integers, as those of 0/1 data, nearly tie at alpha = 2:
hundreds of changes lie within a few roundings of it, and none of them exactly there.  On such a
window the line is followed in the coordinate s of t = centre + half * s, in which floats are dense,
and comparisons are decided with twice the digits of floats (`native/linkage/search/near_ties`).
The pieces are carried back to t, rounded inwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from certune.exact.dyadics import simplest
from certune.families.linkage.balancing import OtherCoordinate
from certune.families.linkage.lines import Line, simplified, sum_at

LARGEST_HALF = 2.0**-24  # half a window, relative to alpha


@dataclass(frozen=True)
class CloseUp(OtherCoordinate):
    """t = centre + half * s.

    Attributes
    ----------
    centre : float
        A simple number of the window, if it has one.
    half : float
        A power of 2.
    """

    centre: float
    half: float

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest s, without a rounding: t has few floats in the window."""
        centre, half = Fraction(self.centre), Fraction(self.half)
        return float((self.low - centre) / half), float((self.high - centre) / half)

    @property
    def length(self) -> float:
        """The largest s."""
        return self.ends[1]

    def place(self, s: float | Fraction) -> Fraction:
        """The t of a coordinate, which it determines."""
        return Fraction(self.centre) + Fraction(self.half) * Fraction(s)


def close_up(line: Line, low: float, high: float) -> CloseUp | None:
    """The coordinate of a narrow window in which alpha alone moves; None if it is not narrow.

    Where alpha is nearly 0, all powers are nearly equal.
    """
    centre = simplest(low, high)
    reach = max(high - centre, centre - low)
    half = math.ldexp(1.0, math.frexp(reach)[1])
    value = sum_at(line.exact_alpha[0], Fraction(centre))
    slope = line.alpha[0][1] * half
    if reach == 0.0 or abs(slope) > LARGEST_HALF * abs(value):
        return None
    moving = Line(line.kind, ((simplified(value), slope),), line.weights)
    return CloseUp(moving, Fraction(low), Fraction(high), centre, half)
