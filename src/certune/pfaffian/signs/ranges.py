"""Values and signs of expressions on a box of parameters, by balls.

The natural enclosure is good on large boxes; the mean value form, a ball at the centre plus slopes
on the box times distances, has an error of second order on small ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import flint
from flint import arb

from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.expressions.evaluation import PRECISION, Jet, as_ball, ball_sign, enclose, jet
from certune.pfaffian.expressions.expression import Expression, constant
from certune.pfaffian.expressions.tapes import tape_of
from certune.pfaffian.signs.affine import Affine, affine_form, affine_range, as_number_ball

Ranges = Mapping[str, tuple[float, float]]
_SHORT = 1e-6


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
    return signs_on(node, [ranges])[0]


def signs_on(node: Expression, boxes: Sequence[Ranges]) -> list[int | None]:
    """Return the sign on each of several boxes; None where it is not proved to be one."""
    line = affine_form(node)
    if line is not None:
        return [_affine_sign(line, ranges) for ranges in boxes]
    tape = tape_of(node)
    if tape is None:
        return [_ball_sign_on(node, ranges) for ranges in boxes]
    sides = [[end for name in node.parameters for end in ranges[name]] for ranges in boxes]
    found: list[int | None] = []
    for ranges, (low, high) in zip(boxes, tape.on_boxes(sides)[:, :2].tolist(), strict=True):
        if low > 0.0 or high < 0.0:
            found.append(1 if low > 0.0 else -1)
        elif -math.inf < low and high < math.inf and _is_wide(node, ranges):
            found.append(None)
        else:
            found.append(_ball_sign_on(node, ranges))
    return found


def _is_wide(node: Expression, ranges: Ranges) -> bool:
    """Is a box so wide that balls of more digits would know no more than doubles?"""
    return any(ranges[name][1] - ranges[name][0] > _SHORT for name in node.parameters)


def _affine_sign(line: Affine, ranges: Ranges) -> int | None:
    sign, is_settled = line.sign_on(ranges)
    return sign if is_settled else ball_sign(_affine_range(line, ranges).ball)


def _ball_sign_on(node: Expression, ranges: Ranges) -> int | None:
    sign = ball_sign(enclose(node, ranges))
    return ball_sign(range_on(node, ranges).ball) if sign is None else sign


def range_on(node: Expression, ranges: Ranges) -> Range:
    """Enclose an expression on a box, by both forms; an affine one as it is."""
    line = affine_form(node)
    if line is not None:
        return _affine_range(line, ranges)
    value = enclose(node, ranges)
    slopes: dict[str, float] = {}
    if not value.is_finite():
        return Range(value, slopes)
    with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
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


def _affine_range(line: Affine, ranges: Ranges) -> Range:
    with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
        sides = {name: as_ball(ranges[name]) for name in line.slopes}
        sizes = {
            name: float(abs(as_number_ball(slope)).upper()) for name, slope in line.slopes.items()
        }
        return Range(affine_range(line, sides), sizes)


def ends_given(
    node: Expression, negative: Sequence[Expression], ranges: Ranges
) -> tuple[tuple[Fraction, Fraction] | None, Range]:
    """Bound an expression at those points of a box at which other expressions are <= 0.

    Where g <= 0, f <= f - m g for every m >= 0. The multiplier m that cancels the slope of f across
    the boundary g = 0 leaves an error of second order at an optimum on the boundary.

    Returns
    -------
    tuple
        Bounds, None if there are none, and the range on the whole box.
    """
    found = range_on(node, ranges)
    ends = ends_of(found.ball)
    for other in negative if ends is not None else ():
        share = _projection(node, other, ranges)
        if share == 0 or ends is None:
            continue
        moved = ends_of(range_on(node - constant(share) * other, ranges).ball)
        if moved is not None and share > 0:
            ends = ends[0], min(ends[1], max(moved[1], ends[0]))
        elif moved is not None:
            ends = max(ends[0], min(moved[0], ends[1])), ends[1]
    return ends, found


def _projection(node: Expression, other: Expression, ranges: Ranges) -> Fraction:
    """Return how much of another expression changes at the centre as this one does."""
    first, second = (_gradient(each, ranges) for each in (node, other))
    product = sum(first[name] * second.get(name, 0.0) for name in first)
    square = sum(slope * slope for slope in second.values())
    share = product / square if square > 0.0 else 0.0
    return Fraction(share) if math.isfinite(share) else Fraction(0)


def _gradient(node: Expression, ranges: Ranges) -> dict[str, float]:
    """Slopes at the centre of a box, each times the width of its side."""
    with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
        centre = {name: arb(0.5 * ranges[name][0] + 0.5 * ranges[name][1]) for name in ranges}
        slopes = {}
        for name in node.parameters:
            moving = {
                each: Jet(centre[each], arb(1) if each == name else None)
                for each in node.parameters
            }
            slope = jet(node, moving, {}).slope
            width = ranges[name][1] - ranges[name][0]
            slopes[name] = 0.0 if slope is None else float(slope.mid()) * width
        return slopes


def ends_of(ball: Any) -> tuple[Fraction, Fraction] | None:
    """Return rational bounds of all numbers of a ball, None if there are none."""
    if not ball.is_finite():
        return None
    low, high = (_exact(end) for end in (ball.lower(), ball.upper()))
    return low, high


def _exact(number: Any) -> Fraction:
    mantissa, exponent = (int(part) for part in number.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent
