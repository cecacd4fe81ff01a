"""Values and signs of expressions on a box of parameters, by balls.

The natural enclosure is good on large boxes; the mean value form, a ball at the centre plus slopes
on the box times distances, has an error of second order on small ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import flint
from flint import arb

from certune.pfaffian.evaluation import PRECISION, Jet, as_ball, ball_sign, enclose, jet
from certune.pfaffian.expressions import Expression

Ranges = Mapping[str, tuple[float, float]]


class Range(NamedTuple):
    """Where an expression lies on a box.

    Parameters
    ----------
    ball : arb
        Contains every value.
    slopes : dict of name to float
        Bounds of the moduli of the partial derivatives; without those that are not known.
    """

    ball: Any
    slopes: dict[str, float]


def sign_on(node: Expression, ranges: Ranges) -> int | None:
    """Return the sign on a box; None if it is not proved to be one."""
    sign = ball_sign(enclose(node, ranges))
    return ball_sign(range_on(node, ranges).ball) if sign is None else sign


def range_on(node: Expression, ranges: Ranges) -> Range:
    """Enclose an expression on a box, by both forms."""
    value = enclose(node, ranges)
    slopes: dict[str, float] = {}
    if not value.is_finite():
        return Range(value, slopes)
    with flint.ctx.workprec(PRECISION):
        sides = {name: as_ball(ranges[name]) for name in node.parameters}
        centre = {name: arb(0.5 * ranges[name][0] + 0.5 * ranges[name][1]) for name in sides}
        close = enclose(node, centre)
        for name in sides:
            moving = {each: Jet(sides[each], arb(1) if each == name else None) for each in sides}
            slope = jet(node, moving, {}).slope
            if slope is not None:
                close += slope * (sides[name] - centre[name])
                size = float(abs(slope).upper())
                if math.isfinite(size):
                    slopes[name] = size
        if close.is_finite():
            # Both are right, so that they meet.
            value = value.intersection(close)
    return Range(value, slopes)


def ends_of(ball: Any) -> tuple[Fraction, Fraction] | None:
    """Return rational bounds of all numbers of a ball, None if there are none."""
    if not ball.is_finite():
        return None
    low, high = (_exact(end) for end in (ball.lower(), ball.upper()))
    return low, high


def _exact(number: Any) -> Fraction:
    mantissa, exponent = (int(part) for part in number.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent
